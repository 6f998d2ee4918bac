// SPDX-License-Identifier: Apache-2.0
/** The rows of the page's table, those that the code returns, and those that tests name are the same. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const src = join(import.meta.dirname, '..');

function rowsIn(paths: readonly string[], pattern: RegExp): readonly string[] {
  const rows = new Set(
    paths.flatMap((path) => [...readFileSync(path, 'utf8').matchAll(pattern)].map((match) => match[1]!)),
  );
  return [...rows].sort((left, right) => left.localeCompare(right, 'en', { numeric: true }));
}

it('given the table of the page, then code returns exactly its rows, and tests name them', () => {
  const files = globSync('**/*.ts', { cwd: src }).map((path) => join(src, path));
  const isTest = (path: string): boolean => path.endsWith('.test.ts');
  const documented = rowsIn([join(src, '../../../docs/behaviour/explain.md')], /^\| (X\d+) \|/gm);
  const returned = rowsIn(
    files.filter((path) => !isTest(path)),
    /'(X\d+)'/g,
  );
  const named = rowsIn([...files.filter(isTest), join(src, '../testing/examples.ts')], /'(X\d+)'/g);
  expect(documented.length).toBeGreaterThan(60);
  expect({ returned, named }).toEqual({ returned: documented, named: documented });
});
