// SPDX-License-Identifier: Apache-2.0
/**
 * The usage text as Go's `flag` package prints it. For the programs that run on every node. They do not load the library of
 * the other programs (usage.ts), because their memory counts.
 */
import type { Flag, Flags } from './flag.ts';

/** The types for which Go prints a name. For all others it prints `value`. */
const namedTypes: ReadonlySet<string> = new Set(['', 'string', 'int', 'uint', 'float', 'duration']);

export async function goUsageText(program: string, flags: Flags): Promise<string> {
  const names = Object.keys(flags).filter((name) => flags[name]!.hidden !== true);
  const entries = names.sort().map((name) => entryText(name, flags[name]!));
  return `Usage of ${program}:\n${entries.join('')}`;
}

function entryText(name: string, { type, usage, deprecated, defaultText }: Flag<unknown>): string {
  const typeText = namedTypes.has(type) ? type : 'value';
  const note = deprecated === undefined ? '' : `DEPRECATED: ${deprecated}. `;
  const shownDefault = defaultText === '' ? '' : ` (default ${defaultText})`;
  return `  -${name}${typeText === '' ? '' : ` ${typeText}`}\n    \t${note}${usage}${shownDefault}\n`;
}
