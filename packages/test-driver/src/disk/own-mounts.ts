// SPDX-License-Identifier: Apache-2.0
/** Which of our volumes is mounted where, according to the kernel. */
import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DataFolder } from './data-folder.ts';
import { fileName, orAbsent } from './files.ts';
import { mountAt, mountTable, originIn } from './mount-table.ts';

export type Held =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'volume'; readonly name: string }
  | { readonly kind: 'foreign' };

export interface OwnMount {
  readonly path: string;
  readonly source: string;
  /** A path below the data folder. */
  readonly origin: string;
}

export interface OwnMounts {
  /** What is mounted at a path. */
  at(place: string): Promise<Held>;
  /** Whether this volume is mounted at a path, which may contain links or not exist. */
  holds(volumeId: string, path: string): Promise<boolean>;
  /** Whether something other than this volume is at the path, mounted or as a file. */
  isForeign(volumeId: string, place: string): Promise<boolean>;
  list(): Promise<readonly OwnMount[]>;
}

/** Links on the way are followed, as in the mount table. The parent must exist: the caller makes it. */
export async function placeOf(path: string): Promise<string> {
  return join(await realpath(dirname(path)), basename(path));
}

export function ownMounts(folder: DataFolder): OwnMounts {
  async function at(place: string): Promise<Held> {
    const table = await mountTable();
    const entry = mountAt(table, place);
    if (entry === undefined) return { kind: 'nothing' };
    const origin = await originIn(folder.path, table, entry);
    const name = origin === undefined ? undefined : DataFolder.volumeNameOf(origin);
    return name === undefined ? { kind: 'foreign' } : { kind: 'volume', name };
  }

  return {
    at,
    holds: async (volumeId, path) => {
      const place = await orAbsent(placeOf(path));
      if (place === undefined) return false;
      const held = await at(place);
      return held.kind === 'volume' && held.name === fileName(volumeId);
    },
    isForeign: async (volumeId, place) => {
      const held = await at(place);
      if (held.kind === 'volume') return held.name !== fileName(volumeId);
      if (held.kind === 'foreign') return true;
      const found = await orAbsent(lstat(place));
      if (found === undefined) return false;
      return found.isDirectory() ? (await readdir(place)).length > 0 : found.size > 0;
    },
    list: async () => {
      const table = await mountTable();
      const found = table.map(async (entry) => {
        const origin = await originIn(folder.path, table, entry);
        return origin === undefined ? [] : [{ path: entry.path, source: entry.source, origin }];
      });
      return (await Promise.all(found)).flat();
    },
  };
}
