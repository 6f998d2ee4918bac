// SPDX-License-Identifier: Apache-2.0
/**
 * The seeds of CI. A commit that changes the world raises the first one by their number, so that a red run is about the change and
 * not about the dice. Fresh seeds belong to `npm run explore`.
 */
export const firstSeed = 6001;
export const seedCount = 400;

/** Seeds that once found a defect, with what they found. They are about the world of their time, so few of them say more than a test does. */
export const regressions: readonly number[] = [];
