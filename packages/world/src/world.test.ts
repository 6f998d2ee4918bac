// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runStory } from './run-story.ts';
import { firstSeed, regressions, seedCount } from './seeds.ts';
import { drawStory } from './draw-story.ts';

/** Plays the seeds from the first one of CI on. */
function explore(count: number, ...flags: readonly string[]): void {
  const range = `${firstSeed}-${firstSeed + count - 1}`;
  const program = join(import.meta.dirname, 'explore.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, range, ...flags], { encoding: 'utf8' });
  expect(`${stdout}${stderr}`).toMatch(`${count} stories from seed ${firstSeed} on, 0 with a breach`);
  expect(status).toBe(0);
}

it('given the stories of CI, then no invariant is broken in any of them', () => explore(seedCount), 900_000);

it('given twenty stories, when all objects are long gone, then no process remembers any of them', () => {
  explore(20, '--memory');
}, 300_000);

it.each(regressions)('given seed %i, which once broke an invariant, then it breaks none', async (seed) => {
  expect((await runStory(drawStory(seed))).breaches).toEqual([]);
});

it('given the same seed twice, then the same things happen at the same moments', async () => {
  const story = drawStory(firstSeed);
  const [one, other] = [await runStory(story), await runStory(story)];
  expect(one.timeLine()).toBe(other.timeLine());
});
