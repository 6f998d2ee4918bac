// SPDX-License-Identifier: Apache-2.0
/** What one health check passes on to its server, and what it logs. */
import { recordingLogger } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { healthHandler, type HealthDeps } from './health.ts';
import { systemSocketFiles } from './socket-files.ts';
import type { Platform } from './stale-socket.ts';

const request = {
  method: 'GET',
  path: '/healthz',
  query: new URLSearchParams(),
  signal: new AbortController().signal,
};

function aHandler(platform: Platform, getInfo: (options: unknown) => Promise<{ name: string }>, failure?: Error) {
  const log = recordingLogger();
  const found = { isSocket: platform === 'unix', identity: '1' };
  const files = {
    ...systemSocketFiles(),
    look: () => Promise.resolve(platform === 'unix' ? found : undefined),
    lookAtEntry: () => Promise.resolve(platform === 'windows' ? found : undefined),
  };
  const connected: unknown[] = [];
  const connect = async (...given: unknown[]) => {
    connected.push(given);
    if (failure !== undefined) throw failure;
    return { getInfo, close: () => undefined };
  };
  const deps = { files, log, platform, connect: connect as unknown as HealthDeps['connect'] };
  return { log, connected, ask: healthHandler(deps, { path: '/socket', driverName: 'ours', timeoutMs: 1_000 }) };
}

it('[node-driver-registrar#43] given a check, then connection and call get the signal of its client, and the call its time limit', async () => {
  const calls: unknown[] = [];
  const { ask, connected } = aHandler('unix', async (options) => {
    calls.push(options);
    return { name: 'ours' };
  });
  expect(await ask(request)).toEqual({ status: 200, body: 'ok' });
  expect(connected).toEqual([['/socket', request.signal]]);
  expect(calls).toEqual([{ timeoutMs: 1_000, signal: request.signal }]);
});

it('[node-driver-registrar#43] given Windows, where a socket is not seen as one, then the server behind the file decides', async () => {
  const { ask } = aHandler('windows', () => Promise.resolve({ name: 'ours' }));
  expect(await ask(request)).toEqual({ status: 200, body: 'ok' });
});

it.each([
  { given: 'a server that cannot be reached', failure: new Error('refused'), body: 'connecting to' },
  { given: 'a call that fails', failure: undefined, body: 'getting info from' },
])('[node-driver-registrar#50] given $given, then the failure below it is the cause of the logged one', async (row) => {
  const noAnswer = new Error('no answer');
  const { ask, log } = aHandler('unix', () => Promise.reject(noAnswer), row.failure);
  expect(await ask(request)).toMatchObject({ status: 500, body: expect.stringContaining(`error ${row.body}`) });
  expect(log.lines).toMatchObject([
    { kind: 'error', message: 'Health check failed', error: { cause: row.failure ?? noAnswer } },
  ]);
});
