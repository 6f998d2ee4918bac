// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { DeadlineError, withDeadline } from '../clock/deadline.ts';
import type { Priority } from './client.ts';
import { createRequestLimiter, type RequestLimiter } from './request-limiter.ts';

const rejection = (promise: Promise<unknown> | undefined): Promise<unknown> =>
  (promise ?? Promise.resolve('not limited')).then(
    () => 'granted',
    (error: unknown) => error,
  );

describe('request limiter', () => {
  const setUp = (qps: number, burst: number) => {
    const clock = new FakeClock();
    const limiter = createRequestLimiter(clock, { qps, burst });
    const left: string[] = [];
    const ask = async (name: string, priority: Priority = 'normal', signal?: AbortSignal): Promise<void> => {
      await limiter.acquire({ priority, signal });
      left.push(`${name}@${Math.round(clock.monotonicMs())}`);
    };
    return { clock, limiter, left, ask };
  };

  it('[runtime#30] given 5 per second, a burst of 10 and 30 requests at once, then the last leaves after 4 s', async () => {
    const { clock, left, ask } = setUp(5, 10);
    const all = Promise.all(Array.from({ length: 30 }, (_, n) => ask(`${n}`)));
    await clock.advance(4001);
    await all;
    const expected = Array.from({ length: 30 }, (_, n) => `${n}@${Math.max(0, n - 9) * 200}`);
    expect(left).toEqual(expected);
    expect(clock.pending).toBe(0);
  });

  it('[runtime#31] given a deadline of 1 s behind a queue of 4 s, then it fails at once and takes no token', async () => {
    const { clock, limiter, left, ask } = setUp(5, 1);
    const before = Promise.all(Array.from({ length: 21 }, (_, n) => ask(`${n}`)));
    const failed = rejection(
      withDeadline(clock, { ms: 1000 }, async (signal) => limiter.acquire({ priority: 'normal', signal })),
    );
    expect(await failed).toMatchObject({
      failure: 'timeout',
      message: 'client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline',
    });
    expect(clock.monotonicMs()).toBe(0);
    const after = ask('after');
    await clock.advance(4200);
    await Promise.all([before, after]);
    expect(left.slice(-2)).toEqual(['20@4000', 'after@4200']);
  });

  it('[runtime#32] given a waiter that is cancelled, then those behind it move up and its listener is gone', async () => {
    const { clock, left, ask } = setUp(5, 1);
    const stop = new AbortController();
    const first = ask('first');
    const cancelled = rejection(ask('cancelled', 'normal', stop.signal));
    const last = ask('last');
    stop.abort();
    expect(await cancelled).toMatchObject({
      failure: 'aborted',
      message: 'client rate limiter Wait returned an error: context canceled',
    });
    await clock.advance(200);
    await Promise.all([first, last]);
    expect(left).toEqual(['first@0', 'last@200']);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  it('given a waiter that is cancelled at the head, then the next one does not wait for its place, and the reason is the cause', async () => {
    const { clock, left, ask } = setUp(5, 1);
    const [stop, reason] = [new AbortController(), new Error('enough')];
    const first = ask('first');
    await clock.advance(100);
    const cancelled = rejection(ask('cancelled', 'normal', stop.signal));
    const next = ask('next');
    await clock.advance(50);
    stop.abort(reason);
    expect(await cancelled).toMatchObject({ cause: reason });
    expect(clock.pending).toBe(1);
    await clock.advance(50);
    await Promise.all([first, next]);
    expect([left, clock.pending]).toEqual([['first@0', 'next@200'], 0]);
  });

  it('given a waiter that was served, then its signal has no listener, and its abort moves none of the others', async () => {
    const { clock, left, ask } = setUp(5, 1);
    const stop = new AbortController();
    const all = Promise.all([ask('first'), ask('served', 'normal', stop.signal), ask('last')]);
    await clock.advance(200);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    stop.abort();
    await clock.advance(200);
    await all;
    expect(left).toEqual(['first@0', 'served@200', 'last@400']);
  });

  it.each<readonly [Priority, string, number]>([
    ['normal', 'behind one of its kind', 400],
    ['low', 'behind one of each kind, which leaves one token to the others', 800],
  ])(
    'given a request of %s priority %s, then it is refused at once only if it would miss its deadline',
    async (priority, _, needsMs) => {
      for (const ms of [needsMs, needsMs - 1]) {
        const { clock, limiter, ask } = setUp(5, 2);
        const before = [ask('taken'), ask('taken'), ask('normal'), ask('low', 'low')];
        const outcome = rejection(withDeadline(clock, { ms }, async (signal) => limiter.acquire({ priority, signal })));
        await clock.advance(0);
        const isRefused = await Promise.race([
          outcome.then(() => true),
          Promise.resolve()
            .then(() => Promise.resolve())
            .then(() => false),
        ]);
        expect([ms, isRefused]).toEqual([ms, ms < needsMs]);
        await clock.advance(2000);
        await Promise.all([...before, outcome]);
      }
    },
  );

  it('given a signal that is already aborted, then nothing is taken', () => {
    const { limiter } = setUp(5, 1);
    const takeAfter = (reason?: unknown) => () =>
      limiter.acquire({ priority: 'normal', signal: AbortSignal.abort(reason) });
    expect(takeAfter()).toThrow('client rate limiter Wait returned an error: context canceled');
    expect(takeAfter(new DeadlineError(1))).toThrow('an error: context deadline exceeded');
    expect(limiter.acquire({ priority: 'normal' })).toBeUndefined();
  });

  it('[runtime#40] given a negative rate, then nothing waits', () => {
    const limiter = createRequestLimiter(new FakeClock(), { qps: -1, burst: 0 });
    const waits = Array.from({ length: 1000 }, () => limiter.acquire({ priority: 'normal' }));
    expect(waits.every((wait) => wait === undefined)).toBe(true);
  });

  it('[runtime#41] given a rate but no burst, then it cannot be created', () => {
    expect(() => createRequestLimiter(new FakeClock(), { qps: 5, burst: 0 })).toThrow(
      'burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0',
    );
  });

  it('given a rate of zero, then the default of 5 with a burst of 10 holds', async () => {
    const { clock, left, ask } = setUp(0, 0);
    const all = Promise.all(Array.from({ length: 11 }, (_, n) => ask(`${n}`)));
    await clock.advance(200);
    await all;
    expect(left.slice(-2)).toEqual(['9@0', '10@200']);
  });
});

describe('low priority', () => {
  const storm = (limiter: RequestLimiter, size: number): void => {
    for (let n = 0; n < size; n += 1) void limiter.acquire({ priority: 'low' });
  };

  it('[runtime#42] given a storm of events, then a write finds a token', async () => {
    const clock = new FakeClock();
    const limiter = createRequestLimiter(clock, { qps: 5, burst: 10 });
    storm(limiter, 1000);
    await clock.advance(60_000);
    const writes = Array.from({ length: 5 }, () => limiter.acquire({ priority: 'normal' }));
    expect(writes).toEqual(Array.from({ length: 5 }, () => undefined));
  });

  it('given a burst of ten, then five events leave at once, the sixth when six tokens are there, and events keep their order', async () => {
    const clock = new FakeClock();
    const limiter = createRequestLimiter(clock, { qps: 5, burst: 10 });
    const left: number[] = [];
    const events = Array.from({ length: 7 }, () =>
      Promise.resolve(limiter.acquire({ priority: 'low' })).then(() => left.push(Math.round(clock.monotonicMs()))),
    );
    await clock.advance(400);
    await Promise.all(events);
    expect(left).toEqual([0, 0, 0, 0, 0, 200, 400]);
  });

  it('given an event that waits, then a later event does not leave before it, although there are tokens for one', async () => {
    const clock = new FakeClock();
    const limiter = createRequestLimiter(clock, { qps: 5, burst: 2 });
    const left: string[] = [];
    const ask = async (name: string, priority: Priority): Promise<void> => {
      await limiter.acquire({ priority });
      left.push(`${name}@${Math.round(clock.monotonicMs())}`);
    };
    const all = [ask('a', 'low'), ask('b', 'low')];
    await clock.advance(100);
    all.push(ask('write', 'normal'), ask('c', 'low'));
    await clock.advance(1000);
    await Promise.all(all);
    expect(left).toEqual(['a@0', 'write@100', 'b@400', 'c@600']);
  });

  it('[runtime#42] given events waiting and writes beyond the burst, then the writes go first', async () => {
    const clock = new FakeClock();
    const limiter = createRequestLimiter(clock, { qps: 5, burst: 10 });
    storm(limiter, 100);
    const left: number[] = [];
    const writes = Array.from({ length: 8 }, () =>
      Promise.resolve(limiter.acquire({ priority: 'normal' })).then(() => left.push(clock.monotonicMs())),
    );
    await clock.advance(601);
    await Promise.all(writes);
    expect(left.map(Math.round)).toEqual([0, 0, 0, 0, 0, 200, 400, 600]);
  });

  it('given writes that never stop, then every tenth token still goes to an event', async () => {
    const clock = new FakeClock();
    const limiter = createRequestLimiter(clock, { qps: 10, burst: 1 });
    const left: Priority[] = [];
    const ask = (priority: Priority): void => {
      void Promise.resolve(limiter.acquire({ priority })).then(() => left.push(priority));
    };
    for (let n = 0; n < 100; n += 1) ask('normal');
    for (let n = 0; n < 100; n += 1) ask('low');
    await clock.advance(5000);
    expect(left.filter((priority) => priority === 'low')).toHaveLength(5);
  });
});
