// SPDX-License-Identifier: Apache-2.0
/** How one check divides its time between connection and Probe, and what it does when its client is gone. */
import { csiError, fakeCsiChannel, hang } from '@csi-sidecars/csi/testing';
import { FakeClock, recordingLogger, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { probe } from '../testing/livenessprobe-fixture.ts';
import { healthCheck, type HealthCheckDeps } from './health-check.ts';

const timedOut = { status: 500, body: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded' };

/** A check of 3 s in a process that has run for a minute. Its connection takes `connectMs`, whatever its limit. */
async function aHangingCheck({
  connectMs,
  budgetMs = 3_000,
}: {
  readonly connectMs: number;
  readonly budgetMs?: number;
}) {
  const clock = new FakeClock();
  await clock.advance(60_000);
  const channel = fakeCsiChannel({ clock });
  channel.answer(probe, hang);
  const log = recordingLogger();
  const limits: Parameters<HealthCheckDeps['connect']>[0][] = [];
  const connect: HealthCheckDeps['connect'] = async (given) => {
    limits.push(given);
    if (connectMs > 0) await clock.sleep(connectMs, given.signal);
    return channel;
  };
  const gone = new AbortController();
  const handler = healthCheck({ clock, log, connect }, { driverName: 'a', budgetMs });
  const request = { method: 'GET', path: '/healthz', query: new URLSearchParams(), signal: gone.signal };
  const state: { answer: unknown } = { answer: undefined };
  const answered = (async () => await handler(request))().then(
    (answer) => void (state.answer = answer),
    (error: unknown) => void (state.answer = error),
  );
  return { clock, log, gone, limits, state, answered };
}

it('[livenessprobe#30] given a process that has run for a minute and a connection that takes 2 s, when Probe hangs, then it fails 1 s later', async () => {
  const { clock, state, answered } = await aHangingCheck({ connectMs: 2_000 });
  await clock.advance(2_999);
  expect(state.answer).toBe(undefined);
  await clock.advance(1);
  await answered;
  expect(state.answer).toEqual(timedOut);
});

it('[livenessprobe#30] given a connection that takes more than the 3 s, then Probe gets no time', async () => {
  const { clock, state, answered } = await aHangingCheck({ connectMs: 3_500 });
  await clock.advance(3_500);
  await answered;
  expect([state.answer, clock.monotonicMs()]).toEqual([timedOut, 63_500]);
});

it('[livenessprobe#31] given a client that disconnects while the check connects, then the connection is given up', async () => {
  const { gone, limits, state, answered } = await aHangingCheck({ connectMs: 2_000 });
  await settle();
  expect(limits).toEqual([{ connectTimeoutMs: 3_000, signal: gone.signal }]);
  expect(limits[0]?.signal).toBe(gone.signal);
  gone.abort(new Error('gone'));
  await answered;
  expect(state.answer).toMatchObject({ status: 500 });
});

it('[livenessprobe#31] given a client that disconnects during Probe, then the call ends as cancelled', async () => {
  const { gone, state, answered } = await aHangingCheck({ connectMs: 0 });
  await settle();
  gone.abort(new Error('gone'));
  await answered;
  expect(state.answer).toEqual({ status: 500, body: 'rpc error: code = Canceled desc = context canceled' });
});

it('given an error that is no answer of the driver, then the check rejects with it', async () => {
  const clock = new FakeClock();
  const defect = new TypeError('a defect');
  const channel = { ...fakeCsiChannel({ clock }), call: () => Promise.reject(defect) };
  const deps = { clock, log: recordingLogger(), connect: async () => channel };
  const { signal } = new AbortController();
  const request = { method: 'GET', path: '/healthz', query: new URLSearchParams(), signal };
  await expect(healthCheck(deps, { driverName: 'a', budgetMs: 3_000 })(request)).rejects.toBe(defect);
});

it('[livenessprobe#30b] given no time at all, then the log has the text of the time limit and nothing after it', async () => {
  const { log, limits, state, answered } = await aHangingCheck({ connectMs: 0, budgetMs: 0 });
  await answered;
  expect([state.answer, limits]).toEqual([{ status: 500, body: 'context deadline exceeded' }, []]);
  expect(log.lines).toMatchObject([
    {
      kind: 'error',
      message: 'Failed to establish connection to CSI driver',
      error: { message: 'context deadline exceeded' },
    },
  ]);
});

it('[livenessprobe#26] given a driver that fails the call, then the driver is named in the log', async () => {
  const clock = new FakeClock();
  const channel = fakeCsiChannel({ clock });
  channel.answer(probe, csiError('Internal', 'x'));
  const log = recordingLogger();
  const handler = healthCheck({ clock, log, connect: async () => channel }, { driverName: 'a', budgetMs: 3_000 });
  const { signal } = new AbortController();
  await handler({ method: 'GET', path: '/healthz', query: new URLSearchParams(), signal });
  expect(log.lines[0]).toEqual({
    kind: 'info',
    level: 5,
    message: 'Sending probe request to CSI driver',
    facts: { driver: 'a' },
  });
});
