// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../clock/clock.ts';

/**
 * The wall clock for log lines, with the microseconds that klog writes and `nowMs` does not have: within a millisecond the
 * monotonic clock goes on. Never off by a millisecond or more; a wall clock that is set is followed at once.
 */
export function createLogTime(clock: Pick<Clock, 'nowMs' | 'monotonicMs'>): () => number {
  let offsetMs = clock.nowMs() - clock.monotonicMs();
  return () => {
    const wallMs = clock.nowMs();
    const preciseMs = clock.monotonicMs() + offsetMs;
    if (preciseMs >= wallMs && preciseMs < wallMs + 1) return preciseMs;
    offsetMs = wallMs - clock.monotonicMs();
    return wallMs;
  };
}
