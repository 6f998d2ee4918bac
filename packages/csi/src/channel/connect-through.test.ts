// SPDX-License-Identifier: Apache-2.0
/** What is logged and measured of calls, and the defaults of connecting, with a dialler that is a function. */
import { FakeClock, recordingLogger } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import type { ObservedCall } from '../metrics/call-metrics.ts';
import { connectThrough } from './connect-through.ts';
import type { DialResult } from './dial.ts';

const method = '/csi.v1.Identity/Probe';
const text = (): string => '{}';
const sanitizer = { request: text, response: text, message: text };
const address = '/csi.sock';

function aDriver(results: () => DialResult) {
  const clock = new FakeClock();
  const log = recordingLogger();
  const observed: ObservedCall[] = [];
  const deps = { clock, log, metrics: { record: (call: ObservedCall) => void observed.push(call) } };
  return { clock, log, observed, deps, protocol: { dial: async () => results(), sanitizer } };
}

function ready(clock: () => FakeClock): DialResult {
  return {
    kind: 'connected',
    connection: {
      exchange: async () => {
        await clock().advance(1500);
        return { kind: 'answered', response: {} };
      },
      ended: new Promise<void>(() => undefined),
      close: () => undefined,
    },
  };
}

it('given a call after a while, then its own seconds are measured, with its label', async () => {
  const driver = aDriver(() => ready(() => driver.clock));
  await driver.clock.advance(60_000);
  const channel = await connectThrough(driver.protocol, driver.deps, { address });
  await channel.call(method, {}, { timeoutMs: 5000, migrated: true });
  expect(driver.observed).toEqual([{ method, code: 'OK', seconds: 1.5, migrated: true }]);
});

it('given another user of the connection, then its calls are in its own log, and measured all the same', async () => {
  const driver = aDriver(() => ready(() => driver.clock));
  const channel = await connectThrough(driver.protocol, driver.deps, { address });
  const log = recordingLogger();
  await channel.loggedBy(log).call(method, {}, { timeoutMs: 5000 });
  expect([log.messages(), driver.log.messages(), driver.observed.length]).toEqual([
    ['GRPC call', 'GRPC response'],
    ['Connecting'],
    1,
  ]);
});

it('given no time limit of connecting, then it is 30 seconds', async () => {
  const driver = aDriver(() => ({ kind: 'failed', reason: 'refused' }));
  const endedMs = connectThrough(driver.protocol, driver.deps, { address }).then(
    () => 'connected',
    (error: Error) => `${driver.clock.monotonicMs()}: ${error.message}`,
  );
  await driver.clock.advance(60_000);
  expect(await endedMs).toBe('30000: context deadline exceeded: refused');
});

it('given a signal that aborts while connecting, then connecting ends', async () => {
  const driver = aDriver(() => ({ kind: 'failed', reason: 'refused' }));
  const stop = new AbortController();
  const ended = connectThrough(driver.protocol, driver.deps, { address, signal: stop.signal }).catch(String);
  await driver.clock.advance(1500);
  stop.abort();
  expect(await ended).toBe('ConnectError: context canceled');
});
