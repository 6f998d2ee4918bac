// SPDX-License-Identifier: Apache-2.0
/** Draws a story from its seed, as data, so that a part can be left out without changing the others. */
import { createDice } from '../world/dice.ts';
import { stormMs } from './storm.ts';
import { mishaps, type Step, type Stories } from './story.ts';

/** Half of what happens follows at once after something else: that is when a run is under way. */
const soonMs = 3_000;

export function drawSteps(seed: number, { acts }: Pick<Stories, 'acts'>): readonly Step[] {
  const dice = createDice(seed);
  const names = Object.keys(acts);
  if (names.length === 0) throw new Error('acts is empty: in a story something has to happen');
  let lastMs = 0;
  const step = (what: string): Step => {
    lastMs = dice.below(2) === 0 ? Math.min(lastMs + dice.below(soonMs), stormMs) : dice.below(stormMs);
    return { atMs: lastMs, what, seed: dice.below(2 ** 31) };
  };
  const users = Array.from({ length: 6 + dice.below(20) }, () => step(dice.pick(names)));
  const fate = Array.from({ length: dice.below(10) }, () => step(dice.pick(Object.values(mishaps))));
  return [...users, ...fate].toSorted((a, b) => a.atMs - b.atMs);
}
