// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { durationsOf, summaryOf, type SuiteRun } from './durations.ts';

const suites: readonly SuiteRun[] = [
  { name: 'check', line: 'check: 1 passed', startSeconds: 0, seconds: 14.25 },
  { name: 'unit', line: 'unit: 2 passed', startSeconds: 14.25, seconds: 90, cpuSeconds: 80, report: 'vitest' },
  {
    name: 'e2e on sim',
    line: 'e2e on sim: 2 passed',
    startSeconds: 107,
    seconds: 300,
    cpuSeconds: 100.4,
    report: 'e2e-sim',
  },
  { name: 'e2e on node', line: 'e2e on node: left out' },
  { name: 'csi-sanity', line: 'csi-sanity: 0 passed, 1 failed', startSeconds: 104.25, seconds: 3, report: 'sanity' },
];
const reports: Record<string, unknown> = {
  vitest: {
    numPassedTests: 2,
    testResults: [
      { name: '/repo/packages/a/src/quick.test.ts', startTime: 1000, endTime: 1010.4 },
      { name: '/repo/packages/b/src/slow.test.ts', startTime: 1000, endTime: 3500 },
    ],
  },
  'e2e-sim': {
    passed: 2,
    scenarios: [
      { id: 'P-01', title: 'a claim', outcome: 'passed', ranMs: 1234 },
      { id: 'A-02', title: 'an attachment', outcome: 'failed', ranMs: 61_000 },
      { id: 'M-03', title: 'a mount', outcome: 'not applicable', ranMs: 0 },
    ],
  },
};
const durations = durationsOf(suites, (report) => reports[report], '/repo');

it('given the reports of a run, then suites, test files and the scenarios that ran are listed slowest first, each with its suite', () => {
  expect(durations).toEqual({
    suites: [
      { name: 'e2e on sim', seconds: 300 },
      { name: 'unit', seconds: 90 },
      { name: 'check', seconds: 14.25 },
      { name: 'csi-sanity', seconds: 3 },
    ],
    scenarios: [
      { suite: 'e2e on sim', scenario: 'A-02 an attachment', seconds: 61 },
      { suite: 'e2e on sim', scenario: 'P-01 a claim', seconds: 1.234 },
    ],
    testFiles: [
      { suite: 'unit', file: 'packages/b/src/slow.test.ts', seconds: 2.5 },
      { suite: 'unit', file: 'packages/a/src/quick.test.ts', seconds: 0.01 },
    ],
  });
});

it('given suites that ran and one that did not, then the summary ends with the suites that ran, in the order in which they began, the whole, and then the other', () => {
  expect(summaryOf(suites, durations)).toEqual([
    '',
    '=== slowest scenarios',
    '   61.0 s  A-02 an attachment (e2e on sim)',
    '    1.2 s  P-01 a claim (e2e on sim)',
    '',
    '=== slowest test files',
    '    2.5 s  packages/b/src/slow.test.ts',
    '    0.0 s  packages/a/src/quick.test.ts',
    '',
    '=== summary: when each suite began, how long it took, and its CPU time, in minutes',
    '  0:00   0:14   0:00  check: 1 passed',
    '  0:14   1:30   1:20  unit: 2 passed',
    '  1:44   0:03   0:00  csi-sanity: 0 passed, 1 failed',
    '  1:47   5:00   1:40  e2e on sim: 2 passed',
    '  0:00   6:47   3:00  all of it',
    'e2e on node: left out',
  ]);
});

it('given more than ten scenarios, then the summary lists the ten slowest', () => {
  const scenarios = Array.from({ length: 12 }, (_, at) => ({
    id: `P-${at}`,
    title: 'claim',
    outcome: 'passed',
    ranMs: at * 1000,
  }));
  const many = durationsOf([suites[2]!], () => ({ scenarios }), '/repo');
  const lines = summaryOf([suites[2]!], many).filter((line) => line.includes('claim'));
  expect(lines.map((line) => line.trim().split(' ')[0])).toEqual([
    '11.0',
    '10.0',
    '9.0',
    '8.0',
    '7.0',
    '6.0',
    '5.0',
    '4.0',
    '3.0',
    '2.0',
  ]);
  expect(many.scenarios).toHaveLength(12);
});

it('given a run of which no suite left a report, then the summary has no empty lists', () => {
  const empty = durationsOf(suites, () => undefined, '/repo');
  expect(summaryOf(suites, empty).slice(0, 2)).toEqual([
    '',
    '=== summary: when each suite began, how long it took, and its CPU time, in minutes',
  ]);
});
