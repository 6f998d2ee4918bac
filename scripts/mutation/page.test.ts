// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { codeOf } from './mutants.ts';
import { changedSince, page, survivorsOf } from './page.ts';
import { type FileResult, hash, idleEquivalents, mutatorsVersion, readEquivalents, type Results } from './records.ts';

const result = (source: string, mutators = mutatorsVersion): FileResult => ({
  mutators,
  source: hash(codeOf('a.ts', source)),
  date: '2026-01-02',
  mutants: 10,
  killed: 8,
  hung: 1,
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

it('given a run with other mutators, then its files count as changed', () => {
  expect([...changedSince({ 'a.ts': result('f(1);', mutatorsVersion - 1) }, () => 'f(1);')]).toEqual(['a.ts']);
});

it('given a group of which one file of three was run in its present code, then the page has its score and its share, and its survivors are listed', () => {
  const files = new Map([['group', ['a.ts', 'b.ts', 'c.ts']]]);
  const run = { files, results, changed: new Set(['b.ts']) };
  const text = page(run, (path) => (path === 'a.ts' ? 30 : 35));
  expect(text).toContain('cover 30 % of the lines that ship (1 of 3 files');
  expect(text).toContain('| group | 1 of 3 | 10 | 8 | 1 | 1 | 1 | 88.9 % | 2026-01-02 |');
  expect(survivorsOf(run)).toEqual(['a.ts:3: true -> false']);
});

it('given the judgements of equivalent mutants, then each is of a mutant that its file has and that no rule covers', () => {
  const root = join(import.meta.dirname, '../..');
  const sourceOf = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '');
  const idle = idleEquivalents(readEquivalents(), sourceOf);
  expect(idle.map(({ file, mutation }) => `${file}: ${mutation}`)).toEqual([]);
});
