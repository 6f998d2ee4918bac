// SPDX-License-Identifier: Apache-2.0
import { connect, createServer, type Socket } from 'node:net';
import { csiError, type Handlers, hang, serveCsi } from '@csi-sidecars/csi/testing';
import { noMetrics } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { connectDriver } from './driver.ts';

/** A driver whose connections are counted. */
async function aDriver(handlers: Handlers) {
  const driver = await serveCsi({ '/csi.v1.Identity/Probe': () => ({}), ...handlers });
  const path = `${driver.path}.counted`;
  const open = new Set<Socket>();
  let made = 0;
  const front = createServer((socket) => {
    made += 1;
    open.add(socket);
    socket.once('close', () => open.delete(socket)).on('error', () => undefined);
    const behind = connect(driver.path).on('error', () => undefined);
    socket.pipe(behind).pipe(socket);
    socket.once('close', () => behind.destroy());
  });
  await new Promise<void>((resolve) => front.listen(path, resolve));
  return {
    path,
    open,
    made: () => made,
    [Symbol.asyncDispose]: async () => {
      front.close();
      for (const socket of open) socket.destroy();
      await driver[Symbol.asyncDispose]();
    },
  };
}

const name = '/csi.v1.Identity/GetPluginInfo';

it.each([
  ['fails the call for its name', { [name]: () => csiError('Internal', 'x') }],
  ['has no name', { [name]: () => ({ name: '' }) }],
  ['fails Probe', { '/csi.v1.Identity/Probe': () => csiError('Internal', 'x') }],
] as const)('given a driver that %s, then connecting fails, and the connection is closed', async (_, handlers) => {
  await using driver = await aDriver(handlers);
  const deps = { clock: new FakeClock(), log: recordingLogger(), metrics: noMetrics, onLost: () => undefined };
  const { signal } = new AbortController();
  const connected = connectDriver(
    { ...deps, signal },
    { address: driver.path, probeTimeoutMs: 1_000, nameTimeoutMs: 1_000 },
  );
  await expect(connected).rejects.toThrow();
  expect(driver.made()).toBeGreaterThan(0);
  await until(() => driver.open.size === 0);
});

it('given a signal during the call for the name, then connecting fails, and the connection is closed', async () => {
  const asked = Promise.withResolvers<void>();
  await using driver = await aDriver({
    [name]: () => {
      asked.resolve();
      return hang();
    },
  });
  const deps = { clock: new FakeClock(), log: recordingLogger(), metrics: noMetrics, onLost: () => undefined };
  const stop = new AbortController();
  const connected = connectDriver(
    { ...deps, signal: stop.signal },
    { address: driver.path, probeTimeoutMs: 1_000, nameTimeoutMs: 1_000 },
  ).catch(() => 'failed');
  await asked.promise;
  stop.abort(new Error('stop'));
  expect(await connected).toBe('failed');
  await until(() => driver.open.size === 0);
});
