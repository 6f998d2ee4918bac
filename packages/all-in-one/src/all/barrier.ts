// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '@csi-sidecars/runtime';

/** Where controllers wait for each other, for a limited time: a slow one must not hold up the others. */
export interface Barrier {
  arrive(name: string): void;
  /** Resolves when all have arrived, or the time is up. Rejects with the signal's reason. */
  pass(signal: AbortSignal): Promise<void>;
}

export function createBarrier(clock: Clock, names: readonly string[], limitMs: number): Barrier {
  const missing = new Set(names);
  const opened = Promise.withResolvers<void>();
  const timer = clock.timer(limitMs, opened.resolve);
  return {
    arrive: (name) => {
      missing.delete(name);
      if (missing.size > 0) return;
      timer.cancel();
      opened.resolve();
    },
    pass: async (signal) => {
      const aborted = Promise.withResolvers<never>();
      const abort = (): void => aborted.reject(signal.reason as Error);
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort);
      try {
        await Promise.race([opened.promise, aborted.promise]);
      } finally {
        signal.removeEventListener('abort', abort);
      }
    },
  };
}
