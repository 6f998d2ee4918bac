// SPDX-License-Identifier: Apache-2.0
/** The rows of the page's table, those that the code returns, and those that tests name are the same. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Nothing is reported of these. */
const silent = ['O1', 'O2', 'O18', 'O22'];

function rowsIn(paths: readonly string[], pattern: RegExp): readonly string[] {
  const rows = new Set<string>();
  for (const path of paths) {
    for (const match of readFileSync(path, 'utf8').matchAll(pattern)) rows.add(match[1] ?? '');
  }
  return [...rows].sort((left, right) => left.localeCompare(right, 'en', { numeric: true }));
}

it('given the table of the page, then code returns exactly its rows that are reported, and tests name all of them', () => {
  const files = globSync('*.ts', { cwd: import.meta.dirname }).map((path) => join(import.meta.dirname, path));
  const page = join(import.meta.dirname, '../../../../docs/behaviour/audit.md');
  const documented = rowsIn([page], /^\| (O\d+) \|/gm);
  expect(documented.length).toBe(23);
  const returned = rowsIn(
    files.filter((path) => !path.endsWith('.test.ts')),
    /'(O\d+)'/g,
  );
  expect(returned).toEqual(documented.filter((row) => !silent.includes(row)));
  expect(rowsIn([join(import.meta.dirname, 'decisions.test.ts')], /'(O\d+)',/g)).toEqual(documented);
});
