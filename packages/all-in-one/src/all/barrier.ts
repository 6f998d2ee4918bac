// SPDX-License-Identifier: Apache-2.0
import type { Clock, Timer } from '@csi-sidecars/runtime';

/** Where controllers wait for each other, for a limited time from the first that waits: a slow one must not hold up the others. */
export interface Barrier {
  arrive(name: string): void;
  /** Resolves when all have arrived, the time is up, or the signal has aborted. Never rejects. */
  pass(signal: AbortSignal): Promise<void>;
}

export function createBarrier(clock: Clock, names: readonly string[], limitMs: number): Barrier {
  const missing = new Set(names);
  const opened = Promise.withResolvers<void>();
  let timer: Timer | undefined;
  return {
    arrive: (name) => {
      missing.delete(name);
      if (missing.size > 0) return;
      timer?.cancel();
      opened.resolve();
    },
    pass: async (signal) => {
      if (missing.size > 0) timer ??= clock.timer(limitMs, opened.resolve);
      const aborted = Promise.withResolvers<void>();
      const abort = (): void => aborted.resolve();
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
