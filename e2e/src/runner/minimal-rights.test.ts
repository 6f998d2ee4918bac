// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { driverNameOf, namespaceOf } from '../scenarios/context.ts';
import { allScenarios } from '../scenarios/all.ts';
import type { Need } from '../scenarios/needs.ts';
import type { TestRun } from '../scenarios/test-run.ts';
import { withMinimalRights } from './minimal-rights.ts';

const has: ReadonlySet<Need> = new Set(allScenarios.flatMap(({ needs }) => needs).filter((need) => need !== 'kubelet'));
const testRun: Pick<TestRun, 'rbac' | 'programs' | 'has'> = { rbac: 'stock', programs: 'built', has };

it('given a run of all scenarios, then some run once more with minimal rights, in places of their own, and each program is among them', () => {
  const twice = withMinimalRights(allScenarios, testRun);
  expect(new Set(twice.map(({ rights }) => rights))).toEqual(new Set(['minimal']));
  const ids = twice.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['P-01', 'A-01', 'R-02', 'S-10', 'U-01', 'H-16']));
  expect(ids).not.toContain('R-01');
  const together = [...allScenarios, ...twice];
  expect(new Set(together.map(namespaceOf)).size).toBe(together.length);
  expect(new Set(twice.map(driverNameOf)).size).toBe(twice.length);
  expect(twice.map(namespaceOf)).toContain('p-01-minimal');
});

it("given minimal rights for all, upstream's programs, or a control plane without RBAC, then no scenario runs twice", () => {
  expect(withMinimalRights(allScenarios, { ...testRun, rbac: 'minimal' })).toEqual([]);
  expect(withMinimalRights(allScenarios, { ...testRun, programs: 'upstream' })).toEqual([]);
  expect(withMinimalRights(allScenarios, { ...testRun, has: new Set() })).toEqual([]);
});
