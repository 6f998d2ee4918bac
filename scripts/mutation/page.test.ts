// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { codeOf } from './mutants.ts';
import { changedSince, page } from './page.ts';
import { type FileResult, hash, type Results } from './records.ts';

const result = (source: string): FileResult => ({
  source: hash(codeOf('a.ts', source)),
  date: '2026-01-02',
  mutants: 10,
  killed: 8,
  equivalent: 1,
  survivors: ['3: true -> false'],
});
const results: Results = { 'a.ts': result('f(1);'), 'b.ts': result('f(2);') };

it('given results, then files whose code has changed since their run are known', () => {
  expect([...changedSince(results, () => 'f(1);')]).toEqual(['b.ts']);
});

it('given a file in which only comments have changed since its run, then it counts as unchanged', () => {
  const commented = '// Why.\n\n/** Calls it. */\nf(1); // with one\n';
  expect([...changedSince(results, () => commented)]).toEqual(['b.ts']);
});

it('given a group of which two files of three were run, then the page has its score, its changes and its survivors', () => {
  const files = new Map([['group', ['a.ts', 'b.ts', 'c.ts']]]);
  const text = page({ files, results, changed: new Set(['b.ts']) }, []);
  expect(text).toContain('| group | 2 of 3 | 1 | 20 | 16 | 2 | 88.9 % | 2026-01-02 |');
  expect(text).toContain('- `a.ts`, line 3: ``true -> false``');
  expect(text).toContain('- `b.ts`: changed since its run of 2026-01-02\n- `c.ts`: never run\n');
});
