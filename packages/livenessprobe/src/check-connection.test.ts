// SPDX-License-Identifier: Apache-2.0
/** What one check does with its connection. */
import { ConnectError } from '@csi-sidecars/csi';
import { csiError, fakeCsiChannel, hang } from '@csi-sidecars/csi/testing';
import { FakeClock, recordingLogger, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { probe } from '../testing/livenessprobe-fixture.ts';
import { healthCheck } from './health-check.ts';

type Channel = ReturnType<typeof fakeCsiChannel>;

function aCheck({
  connectMs = 0,
  answer,
}: {
  readonly connectMs?: number;
  readonly answer: (channel: Channel) => void;
}) {
  const clock = new FakeClock();
  const channel = fakeCsiChannel({ clock });
  answer(channel);
  let open = 0;
  const connect = async () => {
    if (connectMs > 0) await clock.sleep(connectMs);
    open += 1;
    return { ...channel, close: () => void (open -= 1) };
  };
  const log = recordingLogger();
  const handler = healthCheck({ clock, log, connect }, { driverName: 'a', budgetMs: 3_000 });
  const gone = new AbortController();
  const request = { method: 'GET', path: '/healthz', query: new URLSearchParams(), signal: gone.signal };
  return { clock, log, gone, open: () => open, ask: async () => await handler(request) };
}

it.each([
  {
    title: '[livenessprobe#24] given a driver that is ready',
    answer: { ready: { value: true } },
    status: 200,
    logged: 'Health check succeeded',
  },
  {
    title: '[livenessprobe#25] given a driver that is not ready',
    answer: { ready: { value: false } },
    status: 500,
    logged: 'Driver responded but is not ready',
  },
  {
    title: '[livenessprobe#26] given a driver that fails the call',
    answer: csiError('Internal', 'x'),
    status: 500,
    logged: 'Health check failed',
  },
])(
  '$title, then the connection is closed after the check, and $logged is logged',
  async ({ answer, status, logged }) => {
    const check = aCheck({ answer: (channel) => channel.answer(probe, answer) });
    expect([(await check.ask()).status, check.open()]).toEqual([status, 0]);
    expect(check.log.messages()).toEqual(['Sending probe request to CSI driver', logged]);
  },
);

it('[livenessprobe#30] given a connection that takes 2 s of the 3 s, when Probe hangs, then the check fails 1 s later, and its connection is closed', async () => {
  const check = aCheck({ connectMs: 2_000, answer: (channel) => channel.answer(probe, hang) });
  const answer = check.ask();
  await check.clock.advance(2_999);
  expect(check.open()).toBe(1);
  await check.clock.advance(1);
  expect(await answer).toEqual({
    status: 500,
    body: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  });
  expect(check.open()).toBe(0);
});

it('[livenessprobe#31] given a client that disconnects during Probe, then the connection is closed', async () => {
  const check = aCheck({ answer: (channel) => channel.answer(probe, hang) });
  const answer = check.ask();
  await settle();
  expect(check.open()).toBe(1);
  check.gone.abort(new Error('gone'));
  await answer.catch(() => undefined);
  expect(check.open()).toBe(0);
});

it('[livenessprobe#28] given no connection, then the body is the text of the time limit', async () => {
  const handler = healthCheck(
    {
      clock: new FakeClock(),
      log: recordingLogger(),
      connect: () => Promise.reject(new ConnectError('deadlineExceeded', 'x')),
    },
    { driverName: 'a', budgetMs: 3_000 },
  );
  const signal = new AbortController().signal;
  expect(await handler({ method: 'GET', path: '/', query: new URLSearchParams(), signal })).toEqual({
    status: 500,
    body: 'context deadline exceeded',
  });
});
