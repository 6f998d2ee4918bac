// SPDX-License-Identifier: Apache-2.0
/** livenessprobe and node-driver-registrar as controllers: real sockets and ports, virtual time. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { connectIdentity, type Method } from '@csi-sidecars/csi';
import { type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import { type Platform, systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { silentLogger } from '@csi-sidecars/runtime';
import { freePort, settle, until } from '@csi-sidecars/runtime/testing';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { ask } from '../../testing/ask.ts';
import { driverName, healthy, refusedCommandLine } from '../../testing/run-all.ts';
import { runAll } from './run.ts';

const both = '--controllers=livenessprobe,node-driver-registrar';
const registrarOnly = '--controllers=node-driver-registrar';
const registered = '--kubelet-registration-path=/p/csi.sock';

interface Options {
  readonly handlers?: Handlers;
  /** Default: it is there before the start. */
  readonly folder?: 'missing';
  /** Default: unix. On windows a file is in the place of the socket. */
  readonly platform?: Platform;
}

async function started(args: readonly string[], { handlers = {}, folder, platform = 'unix' }: Options = {}) {
  const driver = await serveCsi({ ...healthy, ...handlers });
  const registration = join(dirname(driver.path), 'reg');
  if (folder !== 'missing') mkdirSync(registration);
  if (platform === 'windows') writeFileSync(join(registration, `${driverName}-reg.sock`), '');
  const host = fakeHost({
    args: [`--csi-address=${driver.path}`, `--plugin-registration-path=${registration}`, ...args],
  });
  const settings: unknown[] = [];
  const lifecycle = {
    ...host.lifecycle,
    configure: (given: Parameters<typeof host.lifecycle.configure>[0]) => void settings.push(given),
  };
  const code = runAll({ host, lifecycle, files: systemSocketFiles(), platform });
  return {
    host,
    code,
    ask,
    settings,
    registration,
    socket: join(registration, `${driverName}-reg.sock`),
    errors: () =>
      host
        .logged()
        .split('\n')
        .filter((line) => line.startsWith('E')),
    [Symbol.asyncDispose]: async () => {
      host.stop();
      await Promise.race([code.catch(() => 0), settle()]);
      await driver[Symbol.asyncDispose]();
    },
  };
}

it('given both and an address, then one server answers for both, nothing connects to the API server, and a stop ends both in order', async () => {
  const port = await freePort();
  await using program = await started([both, registered, `--http-endpoint=127.0.0.1:${port}`]);
  await until(async () => (await program.ask(port)) === '200 ok');
  await until(async () => (await program.ask(port, '/healthz/node-driver-registrar')) === '200 ok');
  const page = await program.ask(port, '/metrics');
  for (const controller of ['livenessprobe', 'node-driver-registrar']) {
    expect(page).toContain(`csi_sidecars_controller_state{controller="${controller}",state="working"} 1`);
    expect(program.host.logged()).toContain(`controller="${controller}"`);
  }
  expect(program.host.connections()).toBe(0);
  expect(program.settings).toContainEqual({ onSignal: 'drain', drainMs: 30_000 });
  program.host.stop();
  expect(await program.code).toBe(0);
  expect([existsSync(program.socket), program.errors(), await program.ask(port)]).toEqual([false, [], 'refused']);
});

it('given the registrar alone, then its health is that of the process', async () => {
  const port = await freePort();
  await using program = await started([registrarOnly, registered, `--http-endpoint=127.0.0.1:${port}`]);
  await until(async () => (await program.ask(port)) === '200 ok');
  expect(await program.ask(port, '/healthz/node-driver-registrar')).toMatch(/^404/);
});

it('given no address, then the registrar works without a server', async () => {
  await using program = await started([registrarOnly, registered]);
  await until(() => existsSync(program.socket));
  program.host.stop();
  expect(await program.code).toBe(0);
});

it('given no address, then livenessprobe has its own server, at its own default', async () => {
  await using program = await started(['--controllers=livenessprobe']);
  await until(() => program.host.logged().includes('0.0.0.0:9808'));
});

it.each([
  ['http-endpoint', 'http-endpoint'],
  ['health-port', 'http-endpoint'],
  ['http-endpoint', 'metrics-address'],
])(
  'given --%s for each of both, then each has its own server, beside that of the process at --%s',
  async (flag, ofProcess) => {
    const [port, ofLivenessprobe, ofRegistrar] = [await freePort(), await freePort(), await freePort()];
    const at = (own: number): string => (flag === 'health-port' ? String(own) : `127.0.0.1:${own}`);
    await using program = await started([
      both,
      registered,
      `--${ofProcess}=127.0.0.1:${port}`,
      `--livenessprobe-${flag}=${at(ofLivenessprobe)}`,
      `--node-driver-registrar-${flag}=${at(ofRegistrar)}`,
      '--node-driver-registrar-enable-pprof',
    ]);
    await until(async () => (await program.ask(ofLivenessprobe)) === '200 ok');
    await until(async () => (await program.ask(ofRegistrar)) === '200 ok');
    expect(await program.ask(port)).toMatch(/^404/);
    expect(await program.ask(port, '/metrics')).toContain('csi_sidecars_controller_state');
    const arguments_ = ['200 /program', ...program.host.args].join('\0');
    expect(await program.ask(ofRegistrar, '/debug/pprof/cmdline')).toBe(arguments_);
    program.host.stop();
    expect(await program.code).toBe(0);
  },
);

it.each(['http-endpoint=', 'health-port=0'])(
  'given --node-driver-registrar-%s, then the health of the registrar is nowhere',
  async (flag) => {
    const port = await freePort();
    await using program = await started([
      registrarOnly,
      registered,
      `--http-endpoint=127.0.0.1:${port}`,
      `--node-driver-registrar-${flag}`,
    ]);
    await until(() => existsSync(program.socket));
    await settle();
    expect(await program.ask(port)).toMatch(/^404/);
  },
);

it('given a file in the place of the socket, then it is removed on Windows, where sockets look like files', async () => {
  await using program = await started([registrarOnly, registered], { platform: 'windows' });
  await until(() => program.host.logged().includes('"Registration Server started"'));
  expect(program.errors()).toEqual([]);
});

it.each([
  ['--livenessprobe-http-endpoint=:1', '--livenessprobe-health-port=1'],
  ['--node-driver-registrar-http-endpoint=:1', '--node-driver-registrar-health-port=1'],
])('given %s and %s, then exit 1 before anything runs', async (...args) => {
  const { code, last } = await refusedCommandLine([both, registered, ...args]);
  expect([code, last]).toEqual([1, expect.stringMatching(/health-port.*http-endpoint|http-endpoint.*health-port/)]);
});

it('given the mode of a probe, then there is nothing to do', async () => {
  expect((await refusedCommandLine([registrarOnly, registered, '--mode=kubelet-registration-probe'])).code).toBe(0);
});

it('given a registrar that fails, then it alone starts again after 1 s, and its answer to a stop is not a failure', async () => {
  const port = await freePort();
  await using program = await started([both, registered, `--http-endpoint=127.0.0.1:${port}`], { folder: 'missing' });
  await until(() => program.errors().length === 1);
  await until(async () => (await program.ask(port)) === '200 ok');
  expect(program.errors()).toEqual([
    expect.stringMatching(
      /The controller failed and starts again" err=".+" controller="node-driver-registrar" what=".+" afterSeconds=1/,
    ),
  ]);
  mkdirSync(program.registration);
  await program.host.clock.advance(1_000);
  await until(() => existsSync(program.socket));
  program.host.stop();
  expect(await program.code).toBe(0);
  expect(program.errors()).toHaveLength(1);
});

it('given a kubelet that refuses the driver, then the registrar has failed', async () => {
  await using program = await started([registrarOnly, registered, '--controller-failure=exit']);
  await until(() => existsSync(program.socket));
  const { clock } = program.host;
  const { signal } = new AbortController();
  const kubelet = await connectIdentity({ clock, log: silentLogger }, { address: program.socket, signal });
  const method = '/pluginregistration.Registration/NotifyRegistrationStatus' as Method;
  const refusal = { plugin_registered: false, error: 'a reason' } as object;
  await kubelet.call(method, refusal, { timeoutMs: 60_000, signal });
  kubelet.close();
  expect(await program.code).toBe(1);
  expect(program.errors().at(-1)).toMatch(
    /csi-sidecars ends because of node-driver-registrar.*the controller ended with 1/,
  );
});

it('given a stop while both wait for their driver, then that is no failure', async () => {
  await using program = await started([both, registered, '--livenessprobe-health-port=1'], {
    handlers: { '/csi.v1.Identity/GetPluginInfo': () => new Promise(() => undefined) },
  });
  await until(() => program.host.logged().includes('Controllers'));
  program.host.stop();
  expect(await program.code).toBe(0);
  expect(program.errors()).toEqual([]);
});
