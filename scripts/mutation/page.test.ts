// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { changedSince, page } from './page.ts';
import { type FileResult, hash, type Results } from './records.ts';

const result = (source: string): FileResult => ({
  source: hash(source),
  date: '2026-01-02',
  mutants: 10,
  killed: 8,
  equivalent: 1,
  survivors: ['3: true -> false'],
});
const results: Results = { 'a.ts': result('a'), 'b.ts': result('an earlier b') };

it('given results, then files that have changed since their run are known', () => {
  expect([...changedSince(results, (path) => path.replace('.ts', ''))]).toEqual(['b.ts']);
});

it('given a group of which two files of three were run, then the page has its score, its changes and its survivors', () => {
  const files = new Map([['group', ['a.ts', 'b.ts', 'c.ts']]]);
  const text = page({ files, results, changed: new Set(['b.ts']) }, []);
  expect(text).toContain('| group | 2 of 3 | 1 | 20 | 16 | 2 | 88.9 % | 2026-01-02 |');
  expect(text).toContain('- `a.ts`, line 3: ``true -> false``');
});
