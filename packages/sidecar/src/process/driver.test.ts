// SPDX-License-Identifier: Apache-2.0
import { connect, createServer, type Socket } from 'node:net';
import { csiError, type Handlers, hang, serveCsi } from '@csi-sidecars/csi/testing';
import { noMetrics } from '@csi-sidecars/runtime';
import { FakeClock, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { connectDriver, endWithDriver } from './driver.ts';

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
const probe = '/csi.v1.Identity/Probe';
const log = recordingLogger();

function connecting(address: string, signal = new AbortController().signal) {
  return connectDriver(
    { clock: new FakeClock(), log, metrics: noMetrics, host: {}, onLost: () => undefined, signal },
    { address, probeTimeoutMs: 60_000, nameTimeoutMs: 60_000 },
  );
}

/** Resolves with the message of the error, which comes without the passing of virtual time. */
function failing(address: string, signal: AbortSignal): () => Promise<string> {
  let message = '';
  connecting(address, signal).catch((error: Error) => (message = error.message));
  return async () => {
    await until(() => message !== '', 2_000);
    return message;
  };
}

it.each([
  ['fails the call for its name', { [name]: () => csiError('Internal', 'x') }, 'Failed to get the CSI driver name'],
  ['has no name', { [name]: () => ({ name: '' }) }, 'Failed to get the CSI driver name'],
  ['fails Probe', { [probe]: () => csiError('Internal', 'x') }, 'Failed to probe the CSI driver'],
] as const)(
  'given a driver that %s, then connecting fails, and the connection is closed',
  async (_, handlers, text) => {
    await using driver = await aDriver(handlers);
    await expect(connecting(driver.path)).rejects.toThrow(text);
    expect(driver.made()).toBeGreaterThan(0);
    await until(() => driver.open.size === 0);
  },
);

it.each([name, probe])(
  'given a signal during %s, then connecting fails, and the connection is closed',
  async (method) => {
    const asked = Promise.withResolvers<void>();
    await using driver = await aDriver({
      [method]: () => {
        asked.resolve();
        return hang();
      },
    });
    const stop = new AbortController();
    const failed = failing(driver.path, stop.signal);
    await asked.promise;
    stop.abort(new Error('stop'));
    await failed();
    await until(() => driver.open.size === 0);
  },
);

it('given a signal before there is a driver, then connecting fails', async () => {
  const stop = new AbortController();
  const failed = failing('/nonexistent/csi.sock', stop.signal);
  stop.abort(new Error('stop'));
  expect(await failed()).toBe('Failed to connect to CSI driver');
});

it('given a driver that is lost, then the log says so before the run is ended', () => {
  const said: string[] = [];
  endWithDriver({
    log: recordingLogger({ onLine: ({ message }) => said.push(message) }),
    host: { writeTerminationLog: (text) => void said.push(`termination log: ${text}`) },
    cutShort: (code) => said.push(`exit ${code}`),
  });
  const text = 'Lost connection to CSI driver, exiting';
  expect(said).toEqual([`termination log: ${text}`, text, 'exit 1']);
});
