// SPDX-License-Identifier: Apache-2.0
/** How fast volumes are asked about: at most ten calls a second begin, and at most one for each worker is under way. */
import type { Clock } from '@csi-sidecars/runtime';

/** A driver has to bear this many calls a second, whatever its number of volumes. */
export const leastGapMs = 100;

export interface Pace {
  /** Waits until a call may begin, and begins it. Resolves when it has begun; `call` must not reject. */
  readonly begin: (call: () => Promise<void>, signal: AbortSignal) => Promise<void>;
  /** All calls that have begun are over. */
  readonly idle: () => Promise<void>;
}

export function createPace(clock: Pick<Clock, 'monotonicMs' | 'sleep'>, workers: number): Pace {
  const underWay = new Set<Promise<void>>();
  let nextMs = -Infinity;
  return {
    begin: async (call, signal) => {
      const nowMs = clock.monotonicMs();
      const atMs = Math.max(nowMs, nextMs);
      nextMs = atMs + leastGapMs;
      if (atMs > nowMs) await clock.sleep(atMs - nowMs, signal);
      while (underWay.size >= workers) await Promise.race(underWay);
      signal.throwIfAborted();
      const running: Promise<void> = call().finally(() => underWay.delete(running));
      underWay.add(running);
    },
    idle: async () => void (await Promise.all(underWay)),
  };
}
