// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { declaredLacks, undeclaredSkips } from './skips.ts';

const suites = [
  { name: 'unit', line: '', report: 'vitest' },
  { name: 'programs', line: '', report: 'programs' },
  { name: 'e2e on node', line: '' },
  { name: 'charts', line: '', report: 'none' },
];

function skipsWith({ titles, skipped = 0 }: { readonly titles: readonly string[]; readonly skipped?: number }) {
  const left = titles.map((fullName, index) => ({ status: ['skipped', 'pending', 'todo'][index % 3], fullName }));
  const ran = [
    { status: 'passed', fullName: 'passes' },
    { status: 'failed', fullName: 'fails' },
  ];
  const reports: Record<string, unknown> = {
    vitest: { numPassedTests: 1, testResults: [{ assertionResults: ran }, { assertionResults: left }] },
    programs: { passed: 1, failed: 0, skipped },
  };
  return undeclaredSkips(suites, (report) => reports[report], declaredLacks('xfs,growing-ext4'));
}

it('given tests that were left out, then those are named whose title names nothing that the machine was declared to lack', () => {
  const titles = ['a', 'b (needs root)', 'c (needs xfs)', 'd (needs root, growing-ext4) e', 'f needs xfs'];
  expect(skipsWith({ titles })).toEqual(['unit: a', 'unit: b (needs root)', 'unit: f needs xfs']);
});

it('given a suite that counts its skipped checks only, then their number is named', () => {
  expect(skipsWith({ titles: [], skipped: 2 })).toEqual(['programs: 2 skipped']);
});

it('given nothing was left out, then nothing is named', () => {
  expect(skipsWith({ titles: [] })).toEqual([]);
});

it('given no declaration, then no ability is declared as missing', () => {
  expect([declaredLacks(), declaredLacks('')]).toEqual([new Set(), new Set()]);
});
