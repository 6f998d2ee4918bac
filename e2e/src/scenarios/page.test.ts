// SPDX-License-Identifier: Apache-2.0
/** docs/reference/scenarios.md says of scenarios that do not exist why, and what is special about others. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../processes/program.ts';
import { allScenarios } from './all.ts';
import type { Need } from './needs.ts';
import type { Scenario } from './scenario.ts';

/** The simulated control plane has none of these. */
const ofLocal: readonly Need[] = ['controller-manager', 'bound-tokens', 'admission'];

function whereRuns({ needs }: Scenario): string {
  const slow = needs.includes('time') ? ', slow' : '';
  if (needs.includes('kubelet')) return `node${slow}`;
  return needs.some((need) => ofLocal.includes(need)) ? `local${slow}` : `sim, local${slow}`;
}

it('given the page about scenarios of operation, then those that run do so where it says, and the others do not exist', () => {
  const text = readFileSync(join(repositoryRoot, 'docs', 'reference', 'scenarios.md'), 'utf8');
  const rows = [...text.matchAll(/^\| ([A-Z]-\d\d) \| .* \| ([^|]*) \|$/gm)].map(([, id = '', cell = '']) => {
    const where = /^(?:sim, )?(?:local|node)(?:, slow)?\b/.exec(cell)?.[0] ?? 'nowhere';
    return `${id}: ${where}`;
  });
  const existing = new Map(allScenarios.map((each) => [each.id, whereRuns(each)]));
  expect(rows.length).toBeGreaterThan(10);
  expect(rows).toEqual(rows.map((row) => row.split(':')[0]!).map((id) => `${id}: ${existing.get(id) ?? 'nowhere'}`));
});

it('given all scenarios, then no two have the same id', () => {
  const ids = allScenarios.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});
