// SPDX-License-Identifier: Apache-2.0
/** File system idioms: atomic writes, names that cannot leave their folder, absence as a value. */
import { lstat, open, readdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The ids of ephemeral volumes come from outside and may contain any character. */
export function fileName(id: string): string {
  return encodeURIComponent(id).replace(/^\./, '%2E');
}

/** What written data survives: the end of the driver, or of the machine as well. */
export type Durability = 'process' | 'machine';

export interface AtomicWrite {
  readonly path: string;
  readonly text: string;
  readonly durability: Durability;
}

/** Writes the content completely or not at all. */
export async function writeAtomically({ path, text, durability }: AtomicWrite): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(text);
    if (durability === 'machine') await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path), durability);
}

/** Makes renames and removals in the folder durable. */
export async function syncFolder(path: string, durability: Durability): Promise<void> {
  if (durability === 'process') return; // the kernel keeps it
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function exists(path: string): Promise<boolean> {
  return (await orAbsent(lstat(path))) !== undefined;
}

/** Names in a folder; none if the folder does not exist. */
export async function namesIn(path: string): Promise<readonly string[]> {
  return (await orAbsent(readdir(path))) ?? [];
}

/** Undefined if the file does not exist. */
export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

function isAbsence(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
