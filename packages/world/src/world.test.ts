// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runStory } from './run-story.ts';
import { firstSeed, regressions, seedCount } from './seeds.ts';
import { drawStory } from './story.ts';

it('given the stories of CI, then no invariant is broken in any of them', () => {
  const range = `${firstSeed}-${firstSeed + seedCount - 1}`;
  const program = join(import.meta.dirname, 'explore.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, range], { encoding: 'utf8' });
  expect(`${stdout}${stderr}`).toMatch(`${seedCount} stories from seed ${firstSeed} on, 0 with a breach`);
  expect(status).toBe(0);
}, 900_000);

it.each(regressions)('given seed %i, which once broke an invariant, then it breaks none', async (seed) => {
  expect((await runStory(drawStory(seed))).breaches).toEqual([]);
});

it('given the same seed twice, then the same things happen at the same moments', async () => {
  const story = drawStory(firstSeed);
  const [one, other] = [await runStory(story), await runStory(story)];
  expect(one.timeLine()).toBe(other.timeLine());
});
