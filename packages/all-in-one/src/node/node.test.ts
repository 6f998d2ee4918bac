// SPDX-License-Identifier: Apache-2.0
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { serveCsi } from '@csi-sidecars/csi/testing';
import { type Platform, type SocketFiles, systemSocketFiles } from '@csi-sidecars/node-driver-registrar';
import { livenessprobeProgram } from '@csi-sidecars/livenessprobe';
import { nodeDriverRegistrarProgram } from '@csi-sidecars/node-driver-registrar';
import { freePort, until } from '@csi-sidecars/runtime/testing';
import { fakeHost } from '@csi-sidecars/sidecar/testing';
import { describe, expect, it } from 'vitest';
import { ask } from '../../testing/ask.ts';
import { nodeProgram } from './flags.ts';
import { runNode } from './node.ts';

interface Options {
  readonly platform?: Platform;
  readonly files?: Partial<SocketFiles>;
  /** Before the start. */
  readonly stale?: 'a file in the place of the socket';
}

async function startNode(args: readonly string[] = [], { platform = 'unix', files, stale }: Options = {}) {
  const driver = await serveCsi({
    '/csi.v1.Identity/GetPluginInfo': () => ({ name: 'a.example.com' }),
    '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  });
  const registration = join(dirname(driver.path), 'reg');
  mkdirSync(registration);
  const socket = join(registration, 'a.example.com-reg.sock');
  if (stale !== undefined) writeFileSync(socket, '');
  const ports = { registrar: await freePort(), livenessprobe: await freePort() };
  const host = fakeHost({
    args: [
      `--csi-address=${driver.path}`,
      '--kubelet-registration-path=/p/csi.sock',
      `--plugin-registration-path=${registration}`,
      `--registrar-http-endpoint=127.0.0.1:${ports.registrar}`,
      `--livenessprobe-http-endpoint=127.0.0.1:${ports.livenessprobe}`,
      ...args,
    ],
  });
  const code = runNode({ host, lifecycle: host.lifecycle, files: { ...systemSocketFiles(), ...files }, platform });
  return {
    host,
    driver,
    ports,
    code,
    ask,
    socket,
    [Symbol.asyncDispose]: async () => {
      host.stop();
      await code.catch(() => undefined);
      await driver[Symbol.asyncDispose]();
    },
  };
}

describe('the command line', () => {
  it('given the flags of both programs, then all are accepted, and those that both have get a prefix', () => {
    const shared = Object.keys(livenessprobeProgram.flags).filter((name) => name in nodeDriverRegistrarProgram.flags);
    const same = new Set([
      'csi-address',
      'automaxprocs',
      'v',
      'vmodule',
      'logging-format',
      'log-flush-frequency',
      ...shared.filter((name) => /^log-(text|json)-/.test(name)),
    ]);
    const expected = [nodeDriverRegistrarProgram, livenessprobeProgram].flatMap(({ name, flags }) =>
      Object.keys(flags).map((flag) =>
        shared.includes(flag) && !same.has(flag) ? `${name.replace('csi-node-driver-', '')}-${flag}` : flag,
      ),
    );
    expect(new Set(Object.keys(nodeProgram.flags))).toEqual(new Set(expected));
    expect(nodeProgram).toMatchObject({
      name: 'csi-sidecars',
      flags: {
        'registrar-health-port': { deprecated: 'use --registrar-http-endpoint' },
        'livenessprobe-health-port': { deprecated: 'use --livenessprobe-http-endpoint' },
      },
    });
  });

  it.each([
    [['--kubelet-registration-path='], 1, 'kubelet-registration-path is a required parameter'],
    [['--registrar-health-port=1'], 1, 'Only one of `--health-port` and `--http-endpoint` can be set'],
    [['--livenessprobe-health-port=1'], 1, 'can be explicitly set'],
    [['--metrics-path=/healthz'], 2, 'this path is that of the health check'],
    [['--http-endpoint=:1'], 2, 'flag provided but not defined: -http-endpoint'],
    [['--mode=kubelet-registration-probe'], 0, ''],
    [['--version'], 0, ''],
  ] as const)('given %o, then the process ends before anything runs', async (args, ...[code, text]) => {
    await using node = await startNode(args);
    expect(await node.code).toBe(code);
    expect(node.host.logged()).toContain(text);
    expect(node.host.logged()).not.toContain('"Version"');
  });
});

describe('two programs in one process', () => {
  it('given both, then each has its listener, and a stop ends both in order', async () => {
    await using node = await startNode();
    await until(async () => (await node.ask(node.ports.registrar)) === '200 ok');
    await until(async () => (await node.ask(node.ports.livenessprobe)) === '200 ok');
    expect(await node.ask(node.ports.livenessprobe, '/metrics')).toContain('csi_sidecar_operations_seconds');
    expect(await node.ask(node.ports.registrar, '/metrics')).toContain('404');
    expect(node.host.onSignal()).toBe('drain');
    expect(node.host.logged().match(/"Version" version="v1.2.3"/g)).toHaveLength(1);
    node.host.stop();
    expect(await node.code).toBe(0);
    expect(existsSync(node.socket)).toBe(false);
    expect(await node.ask(node.ports.livenessprobe)).toBe('refused');
  });

  it('given profiles, then they are those of the whole command line', async () => {
    await using node = await startNode(['--enable-pprof']);
    const profile = () => node.ask(node.ports.registrar, '/debug/pprof/cmdline');
    await until(async () => (await profile()) !== 'refused');
    expect(await profile()).toBe(['200 /program', ...node.host.args].join('\0'));
  });

  it('given a file in the place of the socket, then it is removed on Windows, where sockets look like files', async () => {
    await using node = await startNode([], { platform: 'windows', stale: 'a file in the place of the socket' });
    await until(() => node.host.logged().includes('"Registration Server started"'));
    expect(node.host.logged()).not.toContain('will be started again');
  });

  it('given a socket that cannot be removed at the end, then the exit code is 1', async () => {
    const remove = (): Promise<void> => Promise.reject(new Error('read-only'));
    await using node = await startNode([], { files: { remove } });
    await until(() => existsSync(node.socket));
    await until(async () => (await node.ask(node.ports.livenessprobe)) === '200 ok');
    node.host.stop();
    expect(await node.code).toBe(1);
    expect(node.host.logged()).toMatch(/read-only.*part="registrar"/);
  });

  it('given a registrar that fails, then only the registrar is started again, and livenessprobe keeps serving', async () => {
    const taken = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
    await using node = await startNode([`--registrar-http-endpoint=127.0.0.1:${port}`]);
    await until(() => node.host.logged().includes('will be started again'));
    await until(async () => (await node.ask(node.ports.livenessprobe)) === '200 ok');
    expect(existsSync(node.socket)).toBe(false);
    await new Promise((resolve) => taken.close(resolve));
    await node.host.clock.advance(1_000);
    await until(() => existsSync(node.socket));
    expect(node.host.logged()).toContain('part="registrar"');
    expect(node.host.logged()).toContain('part="livenessprobe"');
    expect(await node.ask(node.ports.livenessprobe)).toBe('200 ok');
  });
});
