// SPDX-License-Identifier: Apache-2.0
/** What requests of the API and calls to services have in common. */

/** Acts, mishaps and faults happen in the first five minutes. */
export const stormMs = 300_000;

/** How likely a request or a call fails in that time. */
export const faultChance: number = 1 / 5;

/** How long a message is under way: mostly no time, rarely up to a second. */
export function delayOf(roll: number): number {
  return Math.floor(roll ** 8 * 1_000);
}
