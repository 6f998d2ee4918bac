// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { countsOf, lineOf, summaryOf, writeReport } from './report.ts';
import type { Outcome, Result } from './result.ts';

const result = (outcome: Outcome): Result => ({ id: 'P-01', title: 'a claim', outcome, ranMs: 1234 });
const error = new Error('wrong', { cause: new Error('deep') });
const results = [
  result({ kind: 'passed' }),
  result({ kind: 'failed', error }),
  result({ kind: 'not applicable', missing: ['scheduler', 'audit'] }),
  result({ kind: 'improvement', over: 'does it twice', error }),
];

it('given results of every kind, then each has its line', () => {
  expect(results.map(lineOf)).toEqual([
    'ok    P-01  a claim (1.2 s)',
    'FAIL  P-01  a claim (1.2 s)\n        wrong\n        caused by: deep',
    'n/a   P-01  a claim: needs scheduler, audit',
    'impr  P-01  a claim: upstream does it twice',
  ]);
});

it('given results, then results that are not applicable are counted, and nothing is counted twice', () => {
  const counts = countsOf(results);
  expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0, notApplicable: 1, improvements: 1 });
  expect(summaryOf(counts)).toBe('1 passed, 1 failed, 1 not applicable, 1 failed by upstream as known');
  expect(summaryOf(countsOf(results.slice(0, 1)))).toBe('1 passed, 0 failed, 0 not applicable');
});

it('given a report file, then it has the counts on top and the reasons below', () => {
  const folder = mkdtempSync(join(tmpdir(), 'report-test-'));
  try {
    writeReport(join(folder, 'e2e.json'), results);
    const content = JSON.parse(readFileSync(join(folder, 'e2e.json'), 'utf8')) as Record<string, unknown>;
    expect(content).toMatchObject({ passed: 1, failed: 1, skipped: 0, notApplicable: 1 });
    expect(content['scenarios']).toMatchObject([
      { outcome: 'passed' },
      { outcome: 'failed', error: 'wrong\ncaused by: deep' },
      { outcome: 'not applicable', missing: ['scheduler', 'audit'] },
      { outcome: 'improvement' },
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
