// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../../src/clock/random.ts';
import { seededRandom } from '../seeded-random.ts';

/** What a story is drawn with. */
export interface Dice {
  readonly random: Random;
  readonly chance: (part: number) => boolean;
  /** A whole number from 0 to below the limit. */
  readonly below: (limit: number) => number;
  readonly pick: <T>(choices: readonly T[]) => T;
  /** By their weights. */
  readonly weighed: <T extends { readonly weight: number }>(choices: readonly T[]) => T;
}

export function createDice(seed: number): Dice {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random.next() * limit);
  return {
    random,
    below,
    chance: (part) => random.next() < part,
    pick: (choices) => choices[below(choices.length)]!,
    weighed(choices) {
      let left = random.next() * choices.reduce((sum, { weight }) => sum + weight, 0);
      return choices.find(({ weight }) => (left -= weight) < 0) ?? choices.at(-1)!;
    },
  };
}
