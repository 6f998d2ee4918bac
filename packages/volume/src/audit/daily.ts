// SPDX-License-Identifier: Apache-2.0
/**
 * Of periodic audits: their grace, and which of their findings become events: each once in a day, and few in a pass. The metrics have the
 * whole count.
 */

/** What is younger may be work under way. */
export const auditGraceMs = 600_000;

const onceInMs = 24 * 60 * 60_000;
const mostInPass = 20;

export interface DailyPass {
  /** Whether an event is to be recorded now; that it is, is remembered. */
  readonly isDue: (key: string) => boolean;
}

/** Begins a pass. `nowMs` must not go back. */
export function createDaily(): (nowMs: number) => DailyPass {
  const recordedMs = new Map<string, number>();
  return (nowMs) => {
    for (const [key, ms] of recordedMs) if (nowMs - ms >= onceInMs) recordedMs.delete(key);
    let left = mostInPass;
    return {
      isDue: (key) => {
        if (left <= 0 || recordedMs.has(key)) return false;
        left -= 1;
        recordedMs.set(key, nowMs);
        return true;
      },
    };
  };
}
