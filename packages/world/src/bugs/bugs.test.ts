// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bugs } from './bugs.ts';
import { edited } from './put-back.ts';

const root = join(import.meta.dirname, '../../../..');

it('given the known bugs, then their names are unique', () => {
  const names = bugs.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

it.each(bugs)('given the code as it is, then $name can be put back', ({ edits }) => {
  const sources = new Map<string, string>();
  for (const edit of edits) {
    const before = sources.get(edit.file) ?? readFileSync(join(root, edit.file), 'utf8');
    sources.set(edit.file, edited(before, edit));
  }
  expect(sources.size).toBeGreaterThan(0);
});
