// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { failuresOf } from './failures.ts';

const suites = [
  { name: 'unit', line: '', report: 'vitest' },
  { name: 'programs', line: '', report: 'programs' },
  { name: 'e2e on local', line: '', report: 'e2e-local' },
  { name: 'check', line: '' },
  { name: 'charts', line: '', report: 'none' },
];

function failuresWith(reports: Readonly<Record<string, unknown>>): readonly string[] {
  return failuresOf(suites, (report) => reports[report]);
}

it('given failed tests, a test file that could not be loaded, a failed scenario and a failed check of a program, then each is named with its message', () => {
  const passed = { status: 'passed', fullName: 'passes', failureMessages: [] };
  const failed = { status: 'failed', fullName: 'fails', failureMessages: ['expected 1 to be 2', 'and more'] };
  expect(
    failuresWith({
      vitest: {
        testResults: [
          { name: 'a.test.ts', status: 'failed', message: '', assertionResults: [passed, failed] },
          { name: 'b.test.ts', status: 'failed', message: 'no such module', assertionResults: [] },
        ],
      },
      programs: { passed: 1, failures: ['livenessprobe begins with the interpreter line: #!'] },
      'e2e-local': {
        scenarios: [
          { id: 'P-01', title: 'a claim', outcome: 'passed' },
          {
            id: 'P-02',
            title: 'two claims',
            outcome: 'failed',
            error: 'timed out',
            details: `${'y'.repeat(2_500)}the end`,
          },
          { id: 'P-03', title: 'three claims', outcome: 'not applicable' },
        ],
      },
    }),
  ).toEqual([
    'unit: fails\nexpected 1 to be 2\nand more',
    'unit: b.test.ts\nno such module',
    'programs: livenessprobe begins with the interpreter line: #!',
    `e2e on local: P-02 two claims\ntimed out\n${'y'.repeat(2_493)}the end`,
  ]);
});

it('given a long message, then its first 600 characters are shown', () => {
  expect(failuresWith({ programs: { failures: ['x'.repeat(601)] } })).toEqual([`programs: ${'x'.repeat(600)}`]);
});

it('given no reports, or reports without failures, then nothing is named', () => {
  expect([failuresWith({}), failuresWith({ vitest: { testResults: [] }, programs: { passed: 3 } })]).toEqual([[], []]);
});
