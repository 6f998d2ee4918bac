// SPDX-License-Identifier: Apache-2.0
/** Programs in the process of the test, whose exit and output are recorded. As processes of their own: run-main.test.ts. */
import type { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { recordingLogger, startTestServer, until } from '@csi-sidecars/runtime/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sampleProgram } from '../../testing/sample-program.ts';
import type { ProcessHost } from './host.ts';
import { type ProcessDeps, type ProcessOptions, runInProcess, runPlainProgram } from './run-in-process.ts';
import { runMain } from './run-main.ts';
import { runProgram } from './run-program.ts';

interface Recorded {
  stdout: string;
  stderr: string;
  /** Each exit with what stderr had received by then: a real process writes no more. */
  readonly exits: { readonly code: unknown; readonly stderr: string }[];
  readonly terminationLogs: unknown[];
}

/** For one test. */
function record(...args: readonly string[]): Recorded {
  const recorded: Recorded = { stdout: '', stderr: '', exits: [], terminationLogs: [] };
  const { argv } = process;
  process.argv = ['/node', '/program', ...args];
  for (const event of ['SIGTERM', 'SIGINT', 'uncaughtException', 'unhandledRejection']) keepListeners(process, event);
  for (const stream of [process.stdout, process.stderr]) keepListeners(stream, 'error');
  vi.spyOn(process, 'exit').mockImplementation((code) => {
    recorded.exits.push({ code, stderr: recorded.stderr });
    return undefined as never;
  });
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    recorded.stdout += String(text);
    return true;
  });
  vi.spyOn(fs, 'writeSync').mockImplementation((fd: number, chunk: unknown) => {
    const text = Buffer.from(chunk as Uint8Array).toString();
    expect(fd).toBe(2);
    recorded.stderr += text;
    return Buffer.byteLength(text);
  });
  vi.spyOn(fs, 'truncateSync').mockImplementation((path) => void recorded.terminationLogs.push(path));
  vi.spyOn(fs, 'writeFileSync').mockImplementation((path, text) => void recorded.terminationLogs.push(path, text));
  syncBuiltinESMExports();
  onTestFinished(async () => {
    // Else a program that goes on would end the process of the tests.
    await until(() => recorded.exits.length > 0, 2_000);
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    syncBuiltinESMExports();
    process.argv = argv;
    // V8's default, which runMain changes.
    setFlagsFromString('--semi-space-growth-factor=2');
  });
  return recorded;
}

function keepListeners(emitter: EventEmitter, event: string): void {
  const before = emitter.rawListeners(event) as (() => void)[];
  onTestFinished(() => {
    emitter.removeAllListeners(event);
    for (const listener of before) emitter.on(event, listener);
  });
}

const options: ProcessOptions = {
  name: 'csi-sample',
  usageText: async () => 'usage',
  openMetrics: () => Promise.reject(new Error('no metrics')),
};

const forEver = (): Promise<never> => new Promise(() => undefined);

describe('runInProcess', () => {
  it.each([
    ['a released program', 'v1.2.3', 'v1.2.3'],
    ['a program run from its source', undefined, 'v0.0.0'],
  ])('given %s, then it sees and uses this process, and ends it with its code', async (_, set, version) => {
    const recorded = record('--a', 'b');
    vi.stubEnv('CSI_SIDECARS_VERSION', set);
    vi.stubEnv('POD_NAME', 'pod-1');
    await runInProcess(options, async ({ host }) => {
      const { args, argv0, env, pid, hostName, startedAtMs } = host;
      expect({ args, argv0, pid, hostName, startedAtMs, version: host.version }).toEqual({
        args: ['--a', 'b'],
        argv0: '/program',
        pid: process.pid,
        hostName: hostname(),
        startedAtMs: performance.timeOrigin,
        version,
      });
      expect(env['POD_NAME']).toBe('pod-1');
      expect(host.random.uuid()).toMatch(/^[\da-f-]{36}$/);
      expect(await host.usageText('', {})).toBe('usage');
      await expect(host.openMetrics()).rejects.toThrow('no metrics');
      await host.clock.yieldToLoop();
      host.stdout('to stdout');
      host.writeTerminationLog('the reason');
      const stderr = host.openStderr(() => '');
      stderr.write('to stderr\n');
      await stderr.flush();
      return 7;
    });
    expect(recorded).toEqual({
      stdout: 'to stdout',
      stderr: 'to stderr\n',
      exits: [{ code: 7, stderr: 'to stderr\n' }],
      terminationLogs: ['/dev/termination-log', '/dev/termination-log', 'the reason'],
    });
  });

  it('given a process without a script, then there are no arguments and no name', async () => {
    const recorded = record();
    process.argv = ['/node'];
    await runInProcess(options, async ({ host: { args, argv0 } }) => {
      expect([args, argv0]).toEqual([[], '']);
      return 0;
    });
    expect(recorded.exits).toEqual([{ code: 0, stderr: '' }]);
  });

  it('given a program that fails before it has a log, then stderr has said why when the process ends', async () => {
    const recorded = record();
    await runInProcess(options, async ({ lifecycle }) => {
      lifecycle.configure({ onSignal: 'drain' });
      process.emit('SIGTERM');
      expect(lifecycle.signal.aborted).toBe(true);
      throw new Error('defect');
    });
    const origin = String.raw`\d{4} \d\d:\d\d:\d\d\.\d{6} +${process.pid} csi-sample:0\]`;
    expect(recorded.exits).toEqual([{ code: 1, stderr: recorded.stderr }]);
    expect(recorded.stderr).toMatch(
      new RegExp(`^I${origin} "Received SIGTERM or SIGINT signal.*\nE${origin} "The program failed" err="?[^]*defect`),
    );
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)(
    'given handlers from before the program, then %s ends the process with %d, without them',
    async (signal, code) => {
      const recorded = record();
      const early = vi.fn();
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, early);
      const ended = runInProcess(options, forEver);
      process.emit(signal);
      await ended;
      expect([recorded.exits, early.mock.calls]).toEqual([[{ code, stderr: '' }], []]);
    },
  );
});

describe('the log of a program', () => {
  const run = (deps: ProcessDeps, work: () => Promise<number>) =>
    runProgram(deps, { program: sampleProgram }, async ({ log }) => {
      log.info(0, 'Working');
      return await work();
    });

  it('given a command line that ends the program, then all of the usage is written when the process ends', async () => {
    const recorded = record('--help=all');
    await runPlainProgram(sampleProgram.name, (deps) => run(deps, forEver));
    expect(recorded.exits).toEqual([{ code: 0, stderr: expect.stringMatching(/^Usage of \/program:\n[^]*\n$/) }]);
  });

  it('given a log in JSON, then lines about the process are in it, and all are written when the process ends', async () => {
    const recorded = record('--logging-format=json');
    await runPlainProgram(sampleProgram.name, (deps) =>
      run(deps, async () => {
        deps.lifecycle.configure({ onSignal: 'drain' });
        process.emit('SIGTERM');
        return 3;
      }),
    );
    const [{ code, stderr } = { code: 0, stderr: '' }] = recorded.exits;
    const messages = stderr
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
    expect([code, messages]).toEqual([
      3,
      ['Version', 'Working', 'Received SIGTERM or SIGINT signal, shutting down controller.'],
    ]);
  });
});

describe('the two kinds of programs', () => {
  /** Both end by an error, because the line about it has the program's name. */
  const endOf = (name: string) => ({
    code: 1,
    stderr: expect.stringMatching(new RegExp(` ${name}:0\\] "The program failed" err="?the end`)) as unknown,
  });
  const usageOf = (host: ProcessHost) => host.usageText('/program', sampleProgram.flags);
  const metricsOf = async (host: ProcessHost) => {
    const metrics = await host.openMetrics();
    metrics.counter({ name: 'c_total', help: 'c' }).inc();
    return await metrics.text();
  };

  it('given a program of a node, then its usage is written as Go does, and it has metrics', async () => {
    const recorded = record();
    await runPlainProgram('csi-node', async ({ host }) => {
      expect(await usageOf(host)).toContain('\n  -csi-address string\n');
      expect(await metricsOf(host)).toContain('c_total 1\n');
      throw new Error('the end');
    });
    expect(recorded.exits).toEqual([endOf('csi-node')]);
  });

  it('given a controller, then its usage and metrics are those of the libraries, and it reaches the API server of its kubeconfig', async () => {
    await using server = await startTestServer({
      answer: ({ request, response }) => {
        response.setHeader('content-type', 'application/json').setHeader('warning', '299 - "old"');
        response.end(JSON.stringify({ agent: request.headers['user-agent'] }));
      },
    });
    const folder = fs.mkdtempSync(join(tmpdir(), 'run-main-'));
    onTestFinished(() => fs.rmSync(folder, { recursive: true }));
    const kubeconfig = join(folder, 'kubeconfig');
    const content = {
      'current-context': 'here',
      contexts: [{ name: 'here', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${server.port}` } }],
      users: [{ name: 'u', user: {} }],
    };
    fs.writeFileSync(kubeconfig, JSON.stringify(content));
    const recorded = record();
    vi.stubEnv('CSI_SIDECARS_VERSION', 'v1.2.3');
    await runMain('csi-main', async ({ host, lifecycle: { signal } }) => {
      expect(await usageOf(host)).toContain('\nFlags:\n');
      expect(await metricsOf(host)).toContain('c_total 1\n');
      expect(Buffer.from(await host.files.read(kubeconfig)).toString()).toBe(JSON.stringify(content));
      const metrics = await host.openMetrics();
      const agents: unknown[] = [];
      for (const [commit, counted] of [
        ['0123456789', metrics],
        [undefined, undefined],
      ] as const) {
        vi.stubEnv('CSI_SIDECARS_COMMIT', commit);
        const log = recordingLogger();
        const api = await host.connectApi({
          program: 'csi-sample',
          kubeconfig,
          master: '',
          qps: 5,
          burst: 10,
          log,
          metrics: counted,
        });
        agents.push(await api.client.raw('/version', { signal }));
        expect(log.messages()).toEqual(['Warning: old']);
        await api.close();
      }
      const agent = (commit: string) => ({
        agent: expect.stringMatching(new RegExp(String.raw`^csi-sample/v1\.2\.3 \(\w+/\w+\) kubernetes/${commit}$`)),
      });
      expect(agents).toEqual([agent('0123456'), agent('unknown')]);
      expect(await metrics.text()).toContain(
        `rest_client_requests_total{code="200",host="127.0.0.1:${server.port}",method="GET"} 1\n`,
      );
      throw new Error('the end');
    });
    expect(recorded.exits).toEqual([endOf('csi-main')]);
  });
});
