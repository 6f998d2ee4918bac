// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { runTogether } from './run-together.ts';

/** A part that runs until its controller ends it, whatever its signal says. */
function aPart() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const seen: AbortSignal[] = [];
  const run = (signal: AbortSignal): Promise<void> => {
    seen.push(signal);
    return promise;
  };
  return { run, end: resolve, fail: reject, reason: () => seen[0]?.reason as unknown };
}

function running() {
  const stop = new AbortController();
  const [a, b] = [aPart(), aPart()];
  const ends: unknown[] = [];
  runTogether([a.run, b.run], stop.signal).then(
    () => ends.push('done'),
    (error: unknown) => ends.push(error),
  );
  return { a, b, stop, ends };
}

it('given a part that fails, then the others are stopped in order, and the failure is thrown when they have ended', async () => {
  const { a, b, ends } = running();
  const failure = new Error('a failed');
  a.fail(failure);
  await settle();
  expect([b.reason(), ends]).toEqual([new OrderlyStop('a part of the controller failed'), []]);
  b.end();
  await settle();
  expect(ends).toEqual([failure]);
});

it('given parts that are stopped, then each sees the reason, and all have ended before it resolves', async () => {
  const { a, b, stop, ends } = running();
  stop.abort('stop');
  a.end();
  await settle();
  expect([a.reason(), b.reason(), ends]).toEqual(['stop', 'stop', []]);
  b.end();
  await settle();
  expect(ends).toEqual(['done']);
});
