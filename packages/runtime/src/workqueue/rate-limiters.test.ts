// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, seededRandom } from '../../testing/index.ts';
import { bucket, defaultControllerLimiter, itemExponential, maxOf, retryLimiter } from './rate-limiters.ts';
import type { RateLimiter } from './workqueue.ts';

const delays = (limiter: RateLimiter<string>, count: number, key = 'a'): number[] =>
  Array.from({ length: count }, () => limiter.when(key));
/** A random source that always returns the same number. */
const fixed = (value: number) => ({ next: () => value, uuid: () => '' });

describe('itemExponential', () => {
  it('[runtime#121] given failures in a row, then the delay doubles up to the maximum, per key, until forgotten, without overflow', () => {
    const limiter = itemExponential<string>({ baseMs: 1, maxMs: 1000 });
    expect(delays(limiter, 12)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000]);
    expect(limiter.numRequeues('a')).toBe(12);
    expect(delays(limiter, 2, 'b')).toEqual([1, 2]);
    limiter.forget('a');
    expect([limiter.numRequeues('a'), limiter.when('a')]).toEqual([0, 1]);
    const hours1000 = 1000 * 3600 * 1000;
    const long = delays(itemExponential({ baseMs: 60_000, maxMs: hours1000 }), 2000);
    expect([long[0], long[1], long[1000], long[1999]]).toEqual([60_000, 120_000, hours1000, hours1000]);
  });

  it('given jitter, then up to that part of the delay is added, and taken off where it would exceed the maximum', () => {
    const limiter = itemExponential<string>({
      baseMs: 1000,
      maxMs: 4000,
      jitter: { random: fixed(0.5), fraction: 0.1 },
    });
    expect(delays(limiter, 4)).toEqual([1050, 2100, 3800, 3800]);
  });
});

it('given a jitter that reaches the maximum exactly, then it is added', () => {
  const limiter = itemExponential<string>({ baseMs: 1000, maxMs: 1100, jitter: { random: fixed(1), fraction: 0.1 } });
  expect(limiter.when('a')).toBe(1100);
});

it.each([
  { what: 'a start of zero', baseMs: 0, maxMs: 300_000, first: [1, 2, 4, 8], last: 300_000 },
  { what: 'a negative start', baseMs: -1000, maxMs: 300_000, first: [1, 2, 4, 8], last: 300_000 },
  { what: 'a maximum of zero', baseMs: 1000, maxMs: 0, first: [1, 1, 1, 1], last: 1 },
  { what: 'a negative maximum', baseMs: 1000, maxMs: -1, first: [1, 1, 1, 1], last: 1 },
])(
  'given $what, then a key waits a millisecond at least, also after thousands of failures',
  ({ baseMs, maxMs, first, last }) => {
    const limiter = itemExponential<string>({ baseMs, maxMs });
    const all = delays(limiter, 2_000);
    expect([all.slice(0, 4), all.at(-1)]).toEqual([first, last]);
  },
);

describe('retryLimiter', () => {
  it('[runtime#125] given 100 keys that fail together, then their retries are spread over a tenth of the delay', () => {
    const limiter = retryLimiter<string>({ startMs: 1000, maxMs: 300_000, random: seededRandom(1) });
    for (const [failure, delayMs] of [1000, 2000, 4000, 8000].entries()) {
      const spread = Array.from({ length: 100 }, (_, key) => limiter.when(String(key)));
      expect(Math.min(...spread), `failure ${failure}`).toBeGreaterThanOrEqual(delayMs);
      expect(Math.max(...spread)).toBeLessThan(delayMs * 1.1);
      expect(new Set(spread.map((ms) => Math.floor(ms / (delayMs / 100)))).size).toBeGreaterThan(8);
    }
  });

  it.each([
    { startMs: 0, maxMs: 300_000, delaysMs: [1, 2, 4, 8] },
    { startMs: -1000, maxMs: 300_000, delaysMs: [1, 2, 4, 8] },
    { startMs: 0, maxMs: 0, delaysMs: [1, 1, 1, 1] },
  ])(
    'given intervals of $startMs and $maxMs ms, then a key waits all the same, so that the event loop turns',
    ({ startMs, maxMs, delaysMs }) => {
      const limiter = retryLimiter<string>({ startMs, maxMs, random: fixed(0) });
      expect(delays(limiter, 4)).toEqual(delaysMs);
    },
  );

  it('given a cap, then 100 keys that fail at once retry at no more than that rate', () => {
    const clock = new FakeClock();
    const cap = { clock, perSecond: 10, burst: 5 };
    const limiter = retryLimiter<string>({ startMs: 1, maxMs: 1, random: fixed(0), cap });
    const all = Array.from({ length: 100 }, (_, key) => limiter.when(String(key)));
    expect(all.slice(0, 7)).toEqual([1, 1, 1, 1, 1, 100, 200]);
    expect(all.at(-1)).toBe(9500);
  });
});

describe('bucket', () => {
  it('given a burst that is spent, then each call waits for the next token; time fills it again up to the burst', async () => {
    const clock = new FakeClock();
    const limiter = bucket<string>({ clock, perSecond: 2, burst: 2 });
    expect(delays(limiter, 4)).toEqual([0, 0, 500, 1000]);
    await clock.advance(60_000);
    expect(delays(limiter, 3)).toEqual([0, 0, 500]);
    limiter.forget('a');
    expect(limiter.numRequeues('a')).toBe(0);
  });
});

it('given a bucket that owes tokens, when half a second passes, then it has earned half of those of a second', async () => {
  const clock = new FakeClock();
  const limiter = bucket<string>({ clock, perSecond: 4, burst: 2 });
  expect(delays(limiter, 4)).toEqual([0, 0, 250, 500]);
  await clock.advance(500);
  expect(limiter.when('a')).toBe(250);
});

describe('combinations', () => {
  it('given maxOf, then every member is asked and forgotten, and the longest delay and count win', () => {
    const clock = new FakeClock();
    const limiter = maxOf<string>([
      itemExponential({ baseMs: 5, maxMs: 1_000_000 }),
      bucket({ clock, perSecond: 1, burst: 3 }),
    ]);
    expect(delays(limiter, 5)).toEqual([5, 10, 20, 1000, 2000]);
    expect(limiter.numRequeues('a')).toBe(5);
    limiter.forget('a');
    expect([limiter.numRequeues('a'), limiter.when('a')]).toEqual([0, 3000]);
  });

  it('given the default controller limiter, then it is 5 ms to 1000 s per key, and 10 per second with a burst of 100', () => {
    const limiter = defaultControllerLimiter<string>(new FakeClock());
    expect(delays(limiter, 3)).toEqual([5, 10, 20]);
    const others = Array.from({ length: 99 }, (_, key) => limiter.when(`k${key}`));
    expect(others.slice(-3)).toEqual([5, 100, 200]);
    expect(delays(defaultControllerLimiter<string>(new FakeClock()), 30).at(-1)).toBe(1_000_000);
  });
});
