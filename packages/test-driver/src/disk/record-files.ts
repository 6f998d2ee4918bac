// SPDX-License-Identifier: Apache-2.0
/**
 * One record, one file: `<folder>/<kind>/<id>.json`, replaced atomically, so a change costs the same however many
 * records exist, and a test may write one by hand before the driver starts. Sizes are decimal strings.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Persistence, RecordKind, Records } from '../core/store.ts';
import { fileName, namesIn, syncFolder, writeAtomically, type Durability } from './files.ts';

/** All fields of records and settings that are `bigint`. */
const sizeFields: readonly string[] = [
  'capacityBytes',
  'sizeBytes',
  'totalBytes',
  'defaultVolumeBytes',
  'maxVolumeBytes',
];

export function recordFiles(folder: string, durability: Durability): Persistence {
  const folderOf = (kind: RecordKind): string => join(folder, kind);
  const fileOf = (kind: RecordKind, id: string): string => join(folderOf(kind), `${fileName(id)}.json`);
  return {
    load: async <K extends RecordKind>(kind: K) => {
      await mkdir(folderOf(kind), { recursive: true });
      const names = await namesIn(folderOf(kind));
      for (const torn of names.filter((name) => name.endsWith('.tmp'))) await rm(join(folderOf(kind), torn));
      return await Promise.all(
        names
          .filter((name) => name.endsWith('.json'))
          .map(async (name) => parseRecord<Records[K]>(await readFile(join(folderOf(kind), name), 'utf8'))),
      );
    },
    save: async (kind, record) =>
      await writeAtomically({ path: fileOf(kind, record.id), text: formatRecord(record), durability }),
    remove: async (kind, id) => {
      await rm(fileOf(kind, id), { force: true });
      await syncFolder(folderOf(kind), durability);
    },
  };
}

export function formatRecord(record: object): string {
  return JSON.stringify(record, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value), 2);
}

export function parseRecord<T>(text: string): T {
  return JSON.parse(text, (key, value: unknown) =>
    sizeFields.includes(key) && typeof value === 'string' ? BigInt(value) : value,
  ) as T;
}
