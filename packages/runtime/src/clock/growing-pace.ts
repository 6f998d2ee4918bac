// SPDX-License-Identifier: Apache-2.0
/** How often it is logged that something still does not work. */
import type { Clock } from './clock.ts';

export interface GrowingPace {
  /** True after `firstMs`, then after pauses that double. Asked whenever there is something to log; it needs no timer. */
  isDue(): boolean;
  /** Since the start of the pace. */
  forSeconds(): number;
}

const longestPauseMs = 300_000;

export function growingPace(
  clock: Pick<Clock, 'monotonicMs'>,
  { firstMs, longestMs = longestPauseMs }: { readonly firstMs: number; readonly longestMs?: number },
): GrowingPace {
  const sinceMs = clock.monotonicMs();
  let pauseMs = firstMs;
  let dueMs = sinceMs + firstMs;
  return {
    isDue: () => {
      const nowMs = clock.monotonicMs();
      if (nowMs < dueMs) return false;
      pauseMs = Math.min(pauseMs * 2, longestMs);
      dueMs = nowMs + pauseMs;
      return true;
    },
    forSeconds: () => Math.round((clock.monotonicMs() - sinceMs) / 1000),
  };
}
