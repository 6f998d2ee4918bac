// SPDX-License-Identifier: Apache-2.0
/** Plays a story, and compares dry runs with fresh leaders at moments of it. */
import { drawPlainStory } from '../draw-story.ts';
import { beginStory, stopWorld } from '../run-story.ts';
import { compareNow, type Comparison } from './compare.ts';

/** Turbulence, and some of what follows. */
const everyMs = 19_000;
export const momentsPerStory = 7;

/** One comparison for each moment, the first `count` of them. */
export async function* compareStory(seed: number, count: number = momentsPerStory): AsyncGenerator<Comparison> {
  const world = beginStory(drawPlainStory(seed), { isChecked: false });
  for (let moment = 1; moment <= count; moment += 1) {
    await world.schedule.advanceTo(moment * everyMs, world.look);
    yield await compareNow(world);
  }
  await stopWorld(world);
}
