// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
// @ts-expect-error: a script without types, because it runs before anything is installed.
import { allPassed as passedAll, secondRuns as again } from './second-runs.mjs';

interface Run {
  readonly name: string;
  readonly report?: string;
  readonly failed: number;
}
const secondRuns = again as (
  suites: readonly object[],
  runs: readonly Run[],
  read: (report: string) => unknown,
) => readonly object[];
const allPassed = passedAll as (names: readonly string[], report: unknown) => boolean;

const suites = [
  {
    name: 'unit',
    command: 'vitest run --exclude=a.test.ts',
    report: 'vitest',
    again: (report: string) => `vitest ${report}`,
  },
  { name: 'local', command: 'npm run local', report: 'e2e', again: () => 'npm run e2e' },
  { name: 'check', command: 'node check.mjs' },
];
const unit = {
  testResults: [
    {
      name: '/r/a.test.ts',
      status: 'failed',
      assertionResults: [
        { status: 'failed', fullName: 'a fails' },
        { status: 'passed', fullName: 'a passes' },
      ],
    },
    { name: '/r/b.test.ts', status: 'passed', assertionResults: [{ status: 'passed', fullName: 'b passes' }] },
  ],
};
const local = {
  scenarios: [
    { id: 'P-10', outcome: 'failed' },
    { id: 'P-10 (minimal rights)', outcome: 'failed' },
    { id: 'P-11', outcome: 'passed' },
  ],
};
const unloadable = { testResults: [{ name: '/r/c.test.ts', status: 'failed', assertionResults: [] }] };
const ran = (runs: readonly Run[], reports: Readonly<Record<string, unknown>> = { vitest: unit, e2e: local }) =>
  secondRuns(suites, runs, (report) => reports[report]);
const unitRun = (failed: number): Run => ({ name: 'unit', report: 'vitest', failed });

it('given a failed test and two failed scenarios, then the file and the scenarios run again, and no other', () => {
  const runs = [unitRun(1), { name: 'local', report: 'e2e', failed: 2 }, { name: 'check', failed: 0 }];
  expect(ran(runs)).toEqual([
    { name: 'unit, again', of: runs[0], names: ['a fails'], command: 'vitest vitest /r/a.test.ts', report: 'vitest' },
    {
      name: 'local, again',
      of: runs[1],
      names: ['P-10', 'P-10 (minimal rights)'],
      command: 'npm run e2e --only=P-10',
      report: 'e2e',
    },
  ]);
});

it.each([
  ['four failures', [unitRun(2), { name: 'local', report: 'e2e', failed: 2 }], undefined],
  ['a failure of a suite that cannot run in part', [unitRun(1), { name: 'check', failed: 1 }], undefined],
  ['a file that could not be loaded', [unitRun(1)], { vitest: unloadable }],
  ['a suite that ended with an error besides its failed test', [unitRun(2)], undefined],
  ['a suite without a report', [unitRun(1)], {}],
  ['no failure', [unitRun(0)], undefined],
] as const)('given %s, then nothing runs again', (_, runs, reports) => {
  expect(ran(runs, reports)).toEqual([]);
});

it('given a second run in which one of the names failed or is absent, then not all have passed', () => {
  const names = ['a passes', 'P-11'];
  expect(allPassed(names, { ...unit, ...local })).toBe(true);
  expect(allPassed([...names, 'a fails'], { ...unit, ...local })).toBe(false);
  expect(allPassed(names, local)).toBe(false);
  expect(allPassed(names, undefined)).toBe(false);
});
