// SPDX-License-Identifier: Apache-2.0
/**
 * Waiting for the world to become as it should, by asking it again and again, and for it to stay as it is. All limits scale
 * with one factor (`E2E_TIME_FACTOR`), for slow machines.
 */
import type { Clock } from '@csi-sidecars/runtime';

const pollMs = 100;

export interface Patience {
  readonly clock: Clock;
  readonly factor: number;
  readonly signal: AbortSignal;
}

export interface Wait<T> {
  /** The condition in words, for the message when it is not met in time. */
  readonly what: string;
  readonly timeoutMs?: number;
  /** Undefined, false or an exception mean "not yet"; the last exception is the cause when time is up. */
  readonly check: () => Promise<T | undefined | false> | T | undefined | false;
}

export const usualTimeoutMs = 30_000;

export async function eventually<T>({ clock, factor, signal }: Patience, wait: Wait<T>): Promise<T> {
  const limitMs = (wait.timeoutMs ?? usualTimeoutMs) * factor;
  const deadlineMs = clock.monotonicMs() + limitMs;
  for (;;) {
    signal.throwIfAborted();
    let cause: unknown;
    try {
      const found = await wait.check();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      cause = error;
    }
    if (clock.monotonicMs() >= deadlineMs) {
      throw new Error(`not within ${limitMs / 1000} s: ${wait.what}`, cause === undefined ? {} : { cause });
    }
    await clock.sleep(pollMs, signal);
  }
}

export interface Window {
  readonly forMs: number;
  /** Throws when what must hold does not. */
  readonly check: () => Promise<void> | void;
}

/** The one place where a scenario waits for nothing to happen. */
export async function consistently({ clock, signal }: Patience, { forMs, check }: Window): Promise<void> {
  const endMs = clock.monotonicMs() + forMs;
  for (;;) {
    await check();
    if (clock.monotonicMs() >= endMs) return;
    await clock.sleep(pollMs, signal);
  }
}
