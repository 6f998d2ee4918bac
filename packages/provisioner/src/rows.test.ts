// SPDX-License-Identifier: Apache-2.0
/** The rows of the page's tables, those that the code returns, and those that tests name are the same. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const src = import.meta.dirname;
const page = join(src, '../../../docs/behaviour/provisioner.md');

function rowsIn(paths: readonly string[], pattern: RegExp): readonly string[] {
  const rows = new Set<string>();
  for (const path of paths) {
    for (const match of readFileSync(path, 'utf8').matchAll(pattern)) rows.add(match[1] ?? '');
  }
  return [...rows].sort((left, right) => left.localeCompare(right, 'en', { numeric: true }));
}

it('given the tables of the page, then code returns exactly their rows, and tests name them', () => {
  const files = globSync('**/*.ts', { cwd: src }).map((path) => join(src, path));
  const documented = rowsIn([page], /^\| ([CDNORSV]\d+) \|/gm);
  const returned = rowsIn(
    files.filter((path) => !path.endsWith('.test.ts')),
    /'([CDNORSV]\d+)'/g,
  );
  const named = rowsIn(
    files.filter((path) => path.endsWith('.test.ts')),
    /\b([CDNORSV]\d+)\b/g,
  );
  expect(documented.length).toBeGreaterThan(60);
  expect({ returned, named }).toEqual({ returned: documented, named: documented });
});
