// SPDX-License-Identifier: Apache-2.0
/** bench/README.md: every bench rewrites only the section between its own two markers. */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

const benchFolder = join(import.meta.dirname, '..');
export const plotsFolder: string = join(benchFolder, 'plots');

/** For the setting of a section. */
export const machine: string = `${cpus().length} cores (${cpus()[0]?.model.trim() ?? process.arch})`;

export function rewriteSection(name: string, content: string): void {
  const path = join(benchFolder, 'README.md');
  writeFileSync(path, withSection(readFileSync(path, 'utf8'), name, content));
}

function withSection(page: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page lacks the markers of ${name}`);
  return `${page.slice(0, from + begin.length)}\n\n${content.trim()}\n\n${page.slice(to)}`;
}
