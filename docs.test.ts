// SPDX-License-Identifier: Apache-2.0
/** Pages and tests say the same: every row of docs/behaviour is named by a test, and every named row has a line there. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';

const root = import.meta.dirname;

/** Row ids that a behaviour page lists, as `page#id`. A row is a list item that begins with the id in bold. */
function documentedRows(): Set<string> {
  const rows = new Set<string>();
  for (const path of globSync('docs/behaviour/*.md', { cwd: root })) {
    const page = basename(path, '.md');
    for (const match of readFileSync(join(root, path), 'utf8').matchAll(/^- \*\*([A-Z]{0,3}\d+[a-z]?)\*\* /gm)) {
      rows.add(`${page}#${match[1]}`);
    }
  }
  return rows;
}

/** Row ids in test titles: page name, hash, ids separated by commas, in square brackets; any number of them in front. */
function testedRows(): Set<string> {
  const rows = new Set<string>();
  for (const path of globSync('{packages,e2e}/**/*.test.ts', { cwd: root })) {
    if (path.includes('node_modules')) continue;
    for (const match of readFileSync(join(root, path), 'utf8').matchAll(/\[([a-z-]+)#([A-Za-z0-9, ]+)\]/g)) {
      for (const id of match[2]!.split(',')) rows.add(`${match[1]}#${id.trim()}`);
    }
  }
  return rows;
}

it('given the rows of docs/behaviour, then tests name exactly these', () => {
  const documented = documentedRows();
  const tested = testedRows();
  expect({
    documentedButNotTested: [...documented].filter((row) => !tested.has(row)),
    testedButNotDocumented: [...tested].filter((row) => !documented.has(row)),
  }).toEqual({ documentedButNotTested: [], testedButNotDocumented: [] });
});
