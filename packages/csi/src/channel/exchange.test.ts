// SPDX-License-Identifier: Apache-2.0
/** The limit and the signal of one call: how it ends, and what it leaves behind. */
import { getEventListeners } from 'node:events';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { type SentOutcome, failed, limitedExchange } from './exchange.ts';

const probe = '/csi.v1.Identity/Probe';

function calling(stop = new AbortController()) {
  const clock = new FakeClock();
  const seen = { sent: 0, cancelled: 0 };
  let done: (outcome: SentOutcome) => void = () => undefined;
  const exchange = limitedExchange({
    clock,
    send: (_call, ended) => {
      seen.sent += 1;
      done = ended;
      return { cancel: () => void (seen.cancelled += 1) };
    },
  });
  const outcome = exchange(probe, {}, { timeoutMs: 1000, signal: stop.signal });
  const left = () => [clock.pending, getEventListeners(stop.signal, 'abort').length];
  return { clock, stop, seen, outcome, left, answer: () => done({ kind: 'answered', response: {} }) };
}

it('given many calls on one signal, when each is answered, then no listener and no timer is left, and no stream is reset', async () => {
  const stop = new AbortController();
  for (let call = 0; call < 20; call += 1) {
    const { answer, outcome, left, seen } = calling(stop);
    expect(left()).toEqual([1, 1]);
    answer();
    expect([await outcome, left(), seen]).toEqual([
      { kind: 'answered', response: {} },
      [0, 0],
      { sent: 1, cancelled: 0 },
    ]);
  }
});

it('given a call at its limit, then it ends, its stream is reset, and an answer that comes later changes nothing', async () => {
  const { clock, outcome, left, seen, answer } = calling();
  await clock.advance(1000);
  answer();
  expect(await outcome).toMatchObject({ kind: 'failed', error: { code: 'DeadlineExceeded', method: probe } });
  expect([left(), seen]).toEqual([[0, 0], { sent: 1, cancelled: 1 }]);
});

it('given a signal that aborts during a call, then the call is canceled and its stream is reset', async () => {
  const { stop, outcome, left, seen } = calling();
  stop.abort();
  expect(await outcome).toMatchObject({ kind: 'failed', error: { code: 'Canceled', method: probe } });
  expect([left(), seen]).toEqual([[0, 0], { sent: 1, cancelled: 1 }]);
});

it('given a signal that has aborted before, then nothing is sent', async () => {
  const stop = new AbortController();
  stop.abort();
  const { outcome, left, seen } = calling(stop);
  expect(await outcome).toMatchObject({ kind: 'failed', error: { code: 'Canceled', method: probe } });
  expect([left(), seen]).toEqual([[0, 0], { sent: 0, cancelled: 0 }]);
});

it('given a stream that ends with an outcome of its own while it is reset, then the call ends with the reason of the reset', async () => {
  const clock = new FakeClock();
  const exchange = limitedExchange({
    clock,
    send: (_call, done) => ({ cancel: () => done(failed({ code: 'Unavailable', method: probe, detail: 'reset' })) }),
  });
  const outcome = exchange(probe, {}, { timeoutMs: 1000 });
  await clock.advance(1000);
  expect(await outcome).toMatchObject({ kind: 'failed', error: { code: 'DeadlineExceeded' } });
});
