// SPDX-License-Identifier: Apache-2.0
/**
 * The time for which a key waits before it is tried again. Limiters count per key and combine; one object may serve several
 * queues whose keys cannot collide. Everything here is synchronous and holds no timer.
 */
import type { Clock } from '../clock/clock.ts';
import type { Random } from '../clock/random.ts';
import type { RateLimiter } from './workqueue.ts';

export interface ItemExponentialOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** Keys that failed together would otherwise retry together for ever. None by default, as in client-go. */
  readonly jitter?: Jitter;
}

export interface Jitter {
  readonly random: Random;
  /** Largest part of the delay that is added; taken off instead where the sum would exceed `maxMs`. */
  readonly fraction: number;
}

/** A key that is due at once would be tried in the same turn of the event loop, for ever, and the process would do nothing else. */
const leastDelayMs = 1;

/** `baseMs * 2^failures`, at most `maxMs`; both count as a millisecond at least. */
export function itemExponential<Key extends string>({ jitter, ...options }: ItemExponentialOptions): RateLimiter<Key> {
  const baseMs = Math.max(leastDelayMs, options.baseMs);
  const maxMs = Math.max(leastDelayMs, options.maxMs);
  const failures = failureCounter<Key>();
  return {
    ...failures,
    when: (key) => {
      const delayMs = Math.min(maxMs, baseMs * 2 ** failures.count(key));
      if (jitter === undefined) return delayMs;
      const spreadMs = delayMs * jitter.fraction * jitter.random.next();
      return delayMs + spreadMs <= maxMs ? delayMs + spreadMs : Math.max(leastDelayMs, delayMs - spreadMs);
    },
  };
}

/** A token bucket over all keys: the delay is the time until the token reserved by this call, however far away. */
export function bucket<Key extends string>(options: {
  readonly clock: Clock;
  readonly perSecond: number;
  readonly burst: number;
}): RateLimiter<Key> {
  const { clock, perSecond, burst } = options;
  let tokens = burst;
  let countedMs = clock.monotonicMs();
  return {
    when: () => {
      const now = clock.monotonicMs();
      tokens = Math.min(burst, tokens + ((now - countedMs) / 1000) * perSecond) - 1;
      countedMs = now;
      return tokens >= 0 ? 0 : (-tokens / perSecond) * 1000;
    },
    forget: () => undefined,
    numRequeues: () => 0,
  };
}

/** The longest delay wins. Every member is asked, so a bucket's token is spent even where another delay is longer. */
export function maxOf<Key extends string>(limiters: readonly RateLimiter<Key>[]): RateLimiter<Key> {
  return {
    when: (key) => Math.max(...limiters.map((limiter) => limiter.when(key))),
    forget: (key) => {
      for (const limiter of limiters) limiter.forget(key);
    },
    numRequeues: (key) => Math.max(...limiters.map((limiter) => limiter.numRequeues(key))),
  };
}

/** client-go's DefaultTypedControllerRateLimiter: 5 ms to 1000 s per key, and 10 per second (burst 100) over all keys. */
export function defaultControllerLimiter<Key extends string>(clock: Clock): RateLimiter<Key> {
  return maxOf<Key>([itemExponential({ baseMs: 5, maxMs: 1_000_000 }), bucket({ clock, perSecond: 10, burst: 100 })]);
}

/**
 * What the controllers use: exponential per key between the two `--retry-interval-*` flags, spread by up to 10 percent. With
 * `cap`, all keys together retry at most so often per second: an outage then costs the API server and the driver a bounded
 * load, however many keys fail.
 */
export function retryLimiter<Key extends string>(options: {
  readonly startMs: number;
  readonly maxMs: number;
  readonly random: Random;
  readonly cap?: { readonly clock: Clock; readonly perSecond: number; readonly burst: number };
}): RateLimiter<Key> {
  const { startMs, maxMs, random, cap } = options;
  const perKey = itemExponential<Key>({ baseMs: startMs, maxMs, jitter: { random, fraction: 0.1 } });
  return cap === undefined ? perKey : maxOf([perKey, bucket(cap)]);
}

interface FailureCounter<Key extends string> extends Pick<RateLimiter<Key>, 'forget' | 'numRequeues'> {
  /** Returns the number of earlier failures, and counts this one. */
  count(key: Key): number;
}

function failureCounter<Key extends string>(): FailureCounter<Key> {
  const failures = new Map<Key, number>();
  const numRequeues = (key: Key): number => failures.get(key) ?? 0;
  return {
    numRequeues,
    forget: (key) => {
      failures.delete(key);
    },
    count: (key) => {
      const before = numRequeues(key);
      failures.set(key, before + 1);
      return before;
    },
  };
}
