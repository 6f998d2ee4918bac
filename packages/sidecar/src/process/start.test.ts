// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { fakeHost } from '../../testing/index.ts';
import { sampleProgram } from '../../testing/sample-program.ts';
import { loggingFlags } from '../programs/shared-flags.ts';
import { type StartOptions, start } from './start.ts';

async function started(args: readonly string[], options?: StartOptions) {
  const host = fakeHost({ args });
  const result = await start(host, sampleProgram, options);
  return { host, result, code: result.kind === 'ended' ? result.code : undefined };
}

describe('arguments that are ignored', () => {
  const warnings = ({ host }: Awaited<ReturnType<typeof started>>) =>
    host
      .logged()
      .split('\n')
      .filter((line) => line.startsWith('W'))
      .map((line) => line.replace(/^.*?\] /, ''));

  it('[common#62] given a boolean followed by a separate word, then a warning names the word and all flags behind it', async () => {
    expect(warnings(await started(['--leader-election', 'false', '--timeout=1m']))).toEqual([
      '"Ignoring all arguments from the first one that is not a flag" arguments=["false","--timeout=1m"]',
    ]);
  });

  it.each([
    ['pflag', ['one', '--timeout=1m', 'two'], '["one","two"]'],
    ['mixed', ['--timeout=1m', 'one'], '["one"]'],
  ] as const)('given the syntax %s, then a warning names the words between the flags', async (syntax, args, words) => {
    const host = fakeHost({ args });
    const result = await start(host, { ...sampleProgram, syntax });
    expect(warnings({ host, result, code: undefined })).toEqual([
      `"Ignoring arguments that are not flags" arguments=${words}`,
    ]);
  });

  it('given flags only, then there is no warning', async () => {
    expect(warnings(await started(['--timeout=1m']))).toEqual([]);
  });
});

describe('a command line that ends the program', () => {
  it.each([
    ['--no-such-flag', 'flag provided but not defined: -no-such-flag'],
    ['--timeout=5', 'invalid value "5" for flag -timeout: parse error'],
    [
      '--leader-election-labels=',
      'invalid value "" for flag -leader-election-labels: malformed item in list of labels: ',
    ],
  ])(
    '[common#79] given %s, then the message is first, last and in the termination log, exit 2',
    async (arg, message) => {
      const { host, code } = await started([arg]);
      expect(code).toBe(2);
      const lines = host.logged().split('\n');
      expect([lines[0], ...lines.slice(-3)]).toEqual([message, 'Flags: /program --help', message, '']);
      expect([host.printed(), host.terminationLog()]).toEqual(['', [message]]);
    },
  );

  it('given a termination log that cannot be written, then the rest is the same', async () => {
    const host = fakeHost({ args: ['--no-such-flag'], terminationLog: 'readOnly' });
    expect(await start(host, sampleProgram)).toMatchObject({ kind: 'ended', code: 2 });
    expect(host.logged()).toMatch(/\nflag provided but not defined: -no-such-flag\n$/);
  });

  it('[common#78] given --help or --help=all, then the short or the whole list is on stderr, exit 0', async () => {
    const [short, whole] = [await started(['--help']), await started(['--help=all'])];
    expect([short.code, whole.code]).toEqual([0, 0]);
    expect(short.host.logged()).toMatch(/^Usage of \/program, [^]*\nAll flags: \/program --help=all\n$/);
    expect(whole.host.logged()).toMatch(/^Usage of \/program:\n[^]* --vmodule /);
    expect([short.host.printed(), whole.host.printed()]).toEqual(['', '']);
  });

  it('given --version, then program and version are on stdout, exit 0', async () => {
    const { host, code } = await started(['--version']);
    expect([code, host.printed(), host.logged()]).toEqual([0, '/program v1.2.3\n', '']);
  });

  it('given logging flags that contradict each other, then one error line, exit 1', async () => {
    const { host, code } = await started(['--logging-format=xml', '--version']);
    expect(code).toBe(1);
    expect(host.logged()).toMatch(/^E.*\] "LoggingConfiguration is invalid" err=".*xml.*"\n$/);
  });

  it("given an unknown gate, then the program's exit code, also with --version", async () => {
    const args = ['--feature-gates=NoSuchGate=true', '--version'];
    const refused = await started(args);
    expect([refused.code, refused.host.printed()]).toEqual([1, '']);
    expect(refused.host.logged()).toContain('unrecognized feature gate: NoSuchGate');
    expect(refused.host.terminationLog()).toEqual(['unrecognized feature gate: NoSuchGate']);
    expect((await started(args, { gateExitCode: 255 })).code).toBe(255);
  });

  it('[common#80] given a gate with a mistake in its name, then its line has the right one', async () => {
    const { host } = await started(['--feature-gates=ReleaseLeaderElectionAtExit=true']);
    expect(host.logged()).toMatch(
      /"Failed to set feature gates" err="unrecognized feature gate: ReleaseLeaderElectionAtExit" didYouMean="ReleaseLeaderElectionOnExit"\n$/,
    );
  });

  const gate = ['--feature-gates=NoSuchGate=true', '"Failed to set feature gates"'] as const;
  const version = ['--version', '/program v1.2.3'] as const;
  const addresses = ['--metrics-address=:1 --http-endpoint=:2', 'Only one of `--metrics-address`'] as const;
  it.each<readonly [StartOptions['order'], readonly [string, string], readonly [string, string]]>([
    [undefined, gate, version],
    [undefined, version, addresses],
    [['version', 'endpoints', 'gates'], version, gate],
    [['version', 'endpoints', 'gates'], addresses, gate],
    [['version', 'gates', 'endpoints'], version, gate],
    [['version', 'gates', 'endpoints'], gate, addresses],
    [['endpoints', 'version', 'gates'], addresses, version],
    [[], gate, addresses],
  ])('given the order %j, then of %j and %j the first counts', async (order, [first, text], [second]) => {
    const { host, code } = await started([first, second].join(' ').split(' '), order && { order });
    expect([code, host.printed() + host.logged()]).toEqual([
      first === '--version' ? 0 : 1,
      expect.stringContaining(text),
    ]);
  });

  it('given both addresses, then one error line, exit 1', async () => {
    const { host, code } = await started(['--metrics-address=:1', '--http-endpoint=:2']);
    expect(code).toBe(1);
    expect(host.logged()).toMatch(/^E.*"Only one of `--metrics-address` and `--http-endpoint` can be set"\n$/);
  });
});

describe('a command line that starts the program', () => {
  it('given no flags, then the defaults apply, and the release of the lease is on', async () => {
    const { host, result } = await started([]);
    expect(result).toMatchObject({
      kind: 'started',
      values: { 'csi-address': '/run/csi/socket', 'leader-election': false },
      gates: { ReleaseLeaderElectionOnExit: true },
    });
    expect(host.logged()).toMatch(/^I\d{4} .* {6}7 csi-sample:0\] "Version" version="v1\.2\.3"\n$/);
  });

  it('given a program that omits the line with its version, then nothing is logged', async () => {
    const { host, result } = await started(['--metrics-address=:1'], { versionLine: 'omitted' });
    expect([result.kind, host.logged()]).toEqual(['started', '']);
  });

  it('given gates, then they hold, and finished ones are warned about', async () => {
    const args = ['--feature-gates=ReleaseLeaderElectionOnExit=false', '--feature-gates=Finished=false'];
    const { host, result } = await started(args);
    expect(result).toMatchObject({
      gates: { ReleaseLeaderElectionOnExit: false, Finished: false },
      given: new Set(['feature-gates']),
      givenGates: new Set(['ReleaseLeaderElectionOnExit', 'Finished']),
    });
    expect(host.logged()).toContain(
      '"Warning: setting GA feature gate. It will be removed in a future release." featureGate="Finished" value=false\n',
    );
  });

  it('given a program without gates, then it starts', async () => {
    const result = await start(fakeHost(), { name: 'csi-sample', syntax: 'go', gates: {}, flags: loggingFlags });
    expect(result).toMatchObject({ kind: 'started', gates: {}, givenGates: new Set() });
  });

  it('given the JSON format, then every line is an object', async () => {
    const { host } = await started(['--logging-format=json']);
    expect(JSON.parse(host.logged())).toMatchObject({ msg: 'Version', v: 0, version: 'v1.2.3' });
  });
});
