// SPDX-License-Identifier: Apache-2.0
/** Puts a known defect back into the code that is loaded from now on: the world must find it. The files stay as they are. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Edit } from './bug.ts';
import { bugs } from './bugs.ts';

const root = join(import.meta.dirname, '../../../..');

export function putBugBack(name: string): void {
  const bug = bugs.find((each) => each.name === name);
  if (bug === undefined) throw new Error(`no bug is named ${name}: ${bugs.map((each) => each.name).join(', ')}`);
  editSources(bug.edits);
}

/** Edits what is loaded from now on. */
export function editSources(all: readonly Edit[]): void {
  const edits = new Map<string, Edit[]>();
  for (const edit of all) edits.set(join(root, edit.file), [...(edits.get(join(root, edit.file)) ?? []), edit]);
  registerHooks({
    load(url, context, nextLoad) {
      const path = url.startsWith('file:') ? fileURLToPath(url) : '';
      const wanted = edits.get(path);
      if (wanted === undefined) return nextLoad(url, context);
      const source = wanted.reduce(edited, readFileSync(path, 'utf8'));
      return { format: 'module-typescript', source, shortCircuit: true };
    },
  });
}

/** Throws if the place is not there exactly once, so that an edit never does nothing. */
export function edited(source: string, { file, find, replace }: Edit): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}
