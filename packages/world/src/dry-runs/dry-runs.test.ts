// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { firstSeed } from '../seeds.ts';
import { compareStory, momentsPerStory } from './moments.ts';

/** Stories of each deployment. 1,000 states and more: `run.ts`. */
const stories = 8;

it('[explain#86] given moments of stories, then a dry run comes to the rows of a program that is started then, for each key', async () => {
  const differences: string[] = [];
  const rows = new Set<string>();
  let states = 0;
  for (let seed = firstSeed; seed < firstSeed + stories; seed += 1) {
    for await (const comparison of compareStory(seed)) {
      states += 1;
      differences.push(...comparison.differences);
      for (const row of comparison.rows) rows.add(row);
    }
  }
  expect(differences).toEqual([]);
  expect(states).toBe(stories * momentsPerStory);
  // Otherwise nothing has been compared.
  expect(rows.size).toBeGreaterThan(30);
}, 120_000);

function answers(...args: readonly string[]): readonly string[] {
  const program = join(import.meta.dirname, 'mutants.ts');
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trimEnd().split('\n');
}

it('[explain#87] given flows that begin with another step, then the dry run of each loop comes to that step', () => {
  const real = answers();
  const mutants = answers('mutants');
  expect(real).toHaveLength(14);
  expect(real.join('\n')).not.toMatch(/undefined|mutant/);
  expect(mutants).toEqual(real.map((line) => line.replace(/: .*/, ': mutant')));
});
