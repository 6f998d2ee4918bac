// SPDX-License-Identifier: Apache-2.0
/**
 * Writes `api/*.txt`: the public surface of the package, a file for each door, so that a change of it is seen in a review. Fails if a declaration
 * names a type of the package that cannot be imported.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { exportsOf, meaningOf, type Place } from './api/modules.ts';
import { namesIn, signaturesOf } from './api/signatures.ts';

const folder = join(import.meta.dirname, '..');
const doors = { index: 'src/index.ts', testing: 'testing/index.ts', webhook: 'src/webhook/index.ts' } as const;
const keyOf = ({ file, name }: Place): string => `${file}:${name}`;

mkdirSync(join(folder, 'api'), { recursive: true });
const importable = new Set<string>();
const hidden = new Set<string>();
const surfaces = Object.entries(doors).map(([door, path]) => {
  const surface = [...exportsOf(join(folder, path))].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [, place] of surface) importable.add(keyOf(place));
  return { door, surface };
});
for (const { door, surface } of surfaces) {
  const text = surface.map(([name, place]) => [`# ${name}`, ...signaturesOf(place)].join('\n'));
  writeFileSync(join(folder, 'api', `${door}.txt`), `${text.join('\n\n')}\n`);
  for (const [name, place] of surface) {
    for (const used of namesIn(place)) {
      const meant = meaningOf(place.file, used);
      if (meant === undefined || importable.has(keyOf(meant)) || meant.name === '*') continue;
      hidden.add(`${door}: ${name} names ${meant.name} of ${relative(folder, meant.file)}, which cannot be imported`);
    }
  }
}
for (const line of hidden) process.stderr.write(`${line}\n`);
process.exitCode = hidden.size === 0 ? 0 : 1;
