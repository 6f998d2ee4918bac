// SPDX-License-Identifier: Apache-2.0
/**
 * Scenarios that run twice where all run: with the rights of upstream's files, and with minimal ones. Together the second ones use what the
 * programs may do, in seconds each.
 */
import type { Scenario } from '../scenarios/scenario.ts';
import type { TestRun } from '../scenarios/test-run.ts';
import { select } from './options.ts';

const basics = ['P-01', 'P-03', 'P-05', 'P-19', 'P-26', 'A-01', 'A-02', 'A-03', 'A-16', 'U-01', 'R-'];
const elections = ['H-02', 'H-16'];
const snapshots = ['S-02', 'S-06', 'S-10', 'S-17'];

/** Nothing where all scenarios have minimal rights, rights mean nothing, or upstream's programs run, which need more. */
export function withMinimalRights(
  scenarios: readonly Scenario[],
  { rbac, programs, has }: Pick<TestRun, 'rbac' | 'programs' | 'has'>,
): readonly Scenario[] {
  if (rbac === 'minimal' || programs === 'upstream' || !has.has('rbac')) return [];
  return select(scenarios, [...basics, ...elections, ...snapshots])
    .filter(({ needs }) => needs.every((need) => has.has(need)))
    .map((scenario) => ({ ...scenario, rights: 'minimal' }));
}
