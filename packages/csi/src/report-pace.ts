// SPDX-License-Identifier: Apache-2.0
/** How often it is logged that the driver cannot be used yet. */
const [firstMs, longestPauseMs] = [10_000, 300_000];

/** When to log again what has lasted for `elapsedMs`: not in the first ten seconds, then after pauses that double, of five minutes at most. */
export function nextReportMs(elapsedMs: number): number {
  return Math.max(firstMs, elapsedMs + Math.min(elapsedMs, longestPauseMs));
}
