// SPDX-License-Identifier: Apache-2.0
/** docs/reference/scenarios.md says of every scenario where it runs. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../processes/program.ts';
import { allScenarios } from './all.ts';
import type { Need } from './needs.ts';
import type { Scenario } from './scenario.ts';

const families = ['N-', 'H-', 'X-', 'O-', 'L-'];
const onPage = (id: string): boolean => id === 'A-08' || families.some((family) => id.startsWith(family));

/** The simulated control plane has none of these. */
const ofLocal: readonly Need[] = ['controller-manager', 'bound-tokens', 'admission'];

function whereRuns({ needs }: Scenario): string {
  const slow = needs.includes('time') ? ', slow' : '';
  if (needs.includes('kubelet')) return `node${slow}`;
  return needs.some((need) => ofLocal.includes(need)) ? `local${slow}` : `sim, local${slow}`;
}

it('given the page about scenarios of operation, then it lists those that exist, and where they run', () => {
  const text = readFileSync(join(repositoryRoot, 'docs', 'reference', 'scenarios.md'), 'utf8');
  const rows = [...text.matchAll(/^\| ([A-Z]-\d\d) \| .* \| ((?:sim, )?(?:local|node)(?:, slow)?)\b[^|]*\|$/gm)];
  const documented = rows.map(([, id, where]) => `${id}: ${where}`);
  const existing = allScenarios.filter(({ id }) => onPage(id)).map((each) => `${each.id}: ${whereRuns(each)}`);
  expect(documented.toSorted()).toEqual(existing.toSorted());
});

it('given all scenarios, then no two have the same id', () => {
  const ids = allScenarios.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});
