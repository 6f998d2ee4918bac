// SPDX-License-Identifier: Apache-2.0
import { shrink } from '../world/shrink.ts';
import { drawSteps } from './draw.ts';
import { play } from './play.ts';
import type { Step, Stories } from './story.ts';

export interface StoriesRange {
  /** The first seed. Default 1. */
  readonly from?: number;
  /** How many stories, at least one. Default 100. */
  readonly count?: number;
  /** How many times a story that fails is played to make it shorter. Default 60. */
  readonly shrinkAttempts?: number;
}

const shownLines = 120;

/**
 * Plays random stories of a controller, a seed for each. The same seed and the same code give the same story. A function is called for each
 * time that a story is played: what lies outside of the cluster begins there.
 *
 * Rejects at the first story that fails, with its seed, the shortest story that was found to fail, and the last lines of what happened in it. The
 * cause is what `always` or `finally` threw. `{ from: SEED, count: 1 }` plays that story again.
 */
export async function playStories(
  stories: Stories | (() => Stories),
  { from = 1, count = 100, shrinkAttempts = 60 }: StoriesRange = {},
): Promise<void> {
  if (!(count >= 1)) throw new Error(`count is ${count}: no story would be played`);
  const begin = typeof stories === 'function' ? stories : () => stories;
  for (let seed = from; seed < from + count; seed += 1) {
    const steps = drawSteps(seed, begin());
    if ((await play({ seed, steps }, begin())) === undefined) continue;
    const fails = async (parts: readonly Step[]): Promise<boolean> =>
      (await play({ seed, steps: parts }, begin())) !== undefined;
    const shortest = await shrink({ parts: steps, fails, attempts: shrinkAttempts });
    const failure = await play({ seed, steps: shortest }, begin());
    if (failure === undefined) throw new Error(`seed ${seed}: the story failed once, and not when it was played again`);
    const { error, timeLine } = failure;
    throw new Error(
      [
        `seed ${seed}: ${error instanceof Error ? error.message : String(error)}`,
        'The shortest story that fails:',
        ...shortest.map(({ atMs, what }) => `  ${(atMs / 1_000).toFixed(3)} s  ${what}`),
        'What happened last:',
        ...timeLine.split('\n').slice(-shownLines),
        `Play it again: playStories(stories, { from: ${seed}, count: 1 })`,
      ].join('\n'),
      { cause: error },
    );
  }
}
