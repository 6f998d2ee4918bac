// SPDX-License-Identifier: Apache-2.0
/** The rows of the page's tables, those that the code returns, and those that tests name are the same. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const src = import.meta.dirname;
const behaviour = join(src, '../../../docs/behaviour');

function rowsIn(paths: readonly string[], pattern: RegExp): readonly string[] {
  const rows = new Set<string>();
  for (const path of paths) {
    // Cases of the page on topology and capacity have letters of their own.
    const text = readFileSync(path, 'utf8').replaceAll(/\[provisioner-topology-capacity#[^\]]*\]/g, '');
    for (const match of text.matchAll(pattern)) rows.add(match[1] ?? '');
  }
  return [...rows].sort((left, right) => left.localeCompare(right, 'en', { numeric: true }));
}

it.each([
  { page: 'provisioner', letters: 'COSUV', atLeast: 40 },
  { page: 'provisioner-sources', letters: 'DNR', atLeast: 34 },
  { page: 'provisioner-topology-capacity', letters: 'GHK', atLeast: 18 },
])('given the tables of the page $page, then code returns exactly their rows, and tests name them', (given) => {
  const { page, letters, atLeast } = given;
  const files = globSync('**/*.ts', { cwd: src }).map((path) => join(src, path));
  const documented = rowsIn([join(behaviour, `${page}.md`)], new RegExp(`^\\| ([${letters}]\\d+) \\|`, 'gm'));
  const returned = rowsIn(
    files.filter((path) => !path.endsWith('.test.ts')),
    new RegExp(`'([${letters}]\\d+)'`, 'g'),
  );
  const named = rowsIn(
    files.filter((path) => path.endsWith('.test.ts')),
    new RegExp(`\\b([${letters}]\\d+)\\b`, 'g'),
  );
  expect(documented.length).toBeGreaterThanOrEqual(atLeast);
  expect({ returned, named }).toEqual({ returned: documented, named: documented });
});
