// SPDX-License-Identifier: Apache-2.0
import { settle } from '@csi-sidecars/runtime/testing';
import type { ProgramDeps } from '@csi-sidecars/sidecar';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { isCommand, ofCommand, runCommand, runControllers } from './commands.ts';

/** The exit code, what ran with which command line, and the output. */
async function run(...args: readonly string[]) {
  const { lifecycle, ...host } = fakeHost({ args });
  const started: unknown[] = [];
  let isFlushed = false;
  const note =
    (name: string) =>
    async (deps: ProgramDeps): Promise<number> => {
      // Everything else is handed on.
      expect(deps).toEqual({ lifecycle, host: { ...whole, args: deps.host.args, argv0: deps.host.argv0 } });
      started.push(name, deps.host.argv0, deps.host.args);
      return 7;
    };
  const whole = {
    ...host,
    openStderr: (notice: (count: number) => string) => {
      // Nothing is reported about lines that were dropped.
      expect(notice(1)).toBe('');
      const flush = async () => {
        await settle();
        isFlushed = host.logged() !== '';
      };
      return { ...host.openStderr(notice), flush };
    },
  };
  const deps = { host: whole, lifecycle };
  // As the main file chooses.
  const code = isCommand(args[0])
    ? await runCommand(deps, {
        explain: note('explain'),
        doctor: note('doctor'),
        audit: note('audit'),
        leftovers: note('leftovers'),
        'chart-test': note('chart-test'),
      })
    : await runControllers(deps, note('all'));
  return { code, started, logged: host.logged(), isFlushed };
}

it.each([
  { args: [], started: ['all', '/program', []] },
  { args: [''], started: ['all', '/program', ['']] },
  { args: ['--controllers=a', 'all'], started: ['all', '/program', ['--controllers=a', 'all']] },
  { args: ['all', '--controllers=a', '-h'], started: ['all', '/program', ['--controllers=a', '-h']] },
  { args: ['explain', 'pvc/a'], started: ['explain', '/program explain', ['pvc/a']] },
  { args: ['audit', '--a'], started: ['audit', '/program audit', ['--a']] },
  { args: ['doctor', '--a', '--b'], started: ['doctor', '/program doctor', ['--a', '--b']] },
  { args: ['leftovers', '--a', '--b'], started: ['leftovers', '/program leftovers', ['--a', '--b']] },
  { args: ['chart-test', '--a', '--b'], started: ['chart-test', '/program chart-test', ['--a', '--b']] },
])('given the arguments $args, then this runs with these arguments: $started', async ({ args, started }) => {
  expect(await run(...args)).toEqual({ code: 7, started, logged: '', isFlushed: false });
});

const usage = `Usage of /program:
  [all] --controllers=... [flags]
    \tthe controllers of a driver: /program --help
  node [flags]
    \tcsi-node-driver-registrar and livenessprobe, --csi-address and other flags: /program node --help
  explain KIND/NAME [flags]
    \twhy a claim, a pod or a snapshot waits, and whose turn it is: /program explain --help
  doctor [flags]
    \twhat is wrong with drivers and what runs beside them: /program doctor --help
  audit --driver=NAME --driver-address=SOCKET [flags]
    \twhat the driver has and the cluster does not know, and the other way round: /program audit --help
  leftovers [flags]
    \twhat a csi-provisioner left in the API, and its removal: /program leftovers --help
  chart-test [flags]
    \tthe test hook of the chart csi-driver: /program chart-test --help
`;

it.each([
  { command: 'both', code: 2, message: 'unknown command: both\n' },
  { command: 'help', code: 0, message: '' },
])(
  'given the command $command, then nothing runs, the commands are listed on stderr, and the exit code is $code',
  async ({ command, code, message }) => {
    const ended = await run(command, '--help');
    expect(ended).toEqual({ code, started: [], logged: `${message}${usage}${message}`, isFlushed: true });
  },
);

it('given the host of the command node, then it sees the arguments after its name, and is called by both names', () => {
  const host = fakeHost({ args: ['node', '--a', '--b'] });
  expect(ofCommand(host, 'node')).toEqual({ ...host, args: ['--a', '--b'], argv0: '/program node' });
});

it('given the name by which kubectl runs a plugin, then usage texts say kubectl csi-sidecars', () => {
  const host = { ...fakeHost({ args: ['explain'] }), argv0: '/home/a/bin/kubectl-csi_sidecars' };
  expect(ofCommand(host, 'explain').argv0).toBe('kubectl csi-sidecars explain');
});

it('given a word that is no command, when run as one, then the commands are listed, and the exit code is 2', async () => {
  const { lifecycle, ...host } = fakeHost({ args: ['all'] });
  const never = (): Promise<number> => Promise.reject(new Error('it ran'));
  const code = await runCommand(
    { host, lifecycle },
    { explain: never, doctor: never, audit: never, leftovers: never, 'chart-test': never },
  );
  expect(code).toBe(2);
});
