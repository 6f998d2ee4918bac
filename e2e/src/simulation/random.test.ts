// SPDX-License-Identifier: Apache-2.0
/**
 * Random runs. `SIMULATION_SEEDS=1000-1999` selects other seeds; a single seed prints its trace.
 */
import { describe, expect, it } from 'vitest';
import { runRandom } from './random-run.ts';

const file = 'e2e/src/simulation/random.test.ts';
const usual = '1-60';
/** Seeds that failed once. */
const regressions: readonly number[] = [];

const [first = 1, last = first] = (process.env['SIMULATION_SEEDS'] ?? usual).split('-').map(Number);
const seeds = [...regressions, ...Array.from({ length: last - first + 1 }, (_, index) => first + index)];

describe('random stories', () => {
  it.each(seeds)(
    'given seed %i, when the faults have ended, then nothing is lost and nothing is left',
    { timeout: 30_000 },
    async (seed) => {
      const { breaches, leaked, trace } = await runRandom(seed);
      // oxlint-disable-next-line no-console
      if (seeds.length === 1) console.log(trace.join('\n'));
      const replay = `replay with trace: SIMULATION_SEEDS=${seed} npx vitest run ${file}`;
      expect({ breaches, leaked }, replay).toEqual({ breaches: [], leaked: [] });
    },
  );
});
