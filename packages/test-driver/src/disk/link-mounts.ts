// SPDX-License-Identifier: Apache-2.0
/**
 * Mounts without root: a published volume is a symbolic link to its data. There is no staging, no device and no read-only mount; it suffices for
 * tests that only read and write below a path.
 */
import { lstat, readlink, symlink, unlink } from 'node:fs/promises';
import type { DataFolder } from './data-folder.ts';
import { orAbsent } from './files.ts';
import type { Mounts } from './mounts.ts';

export function linkMounts(folder: DataFolder): Mounts {
  const done = async (): Promise<void> => undefined;
  const isForeign = async (volumeId: string, path: string): Promise<boolean> => {
    const found = await orAbsent(lstat(path));
    if (found === undefined) return false;
    return !found.isSymbolicLink() || !(await readlink(path)).startsWith(`${folder.folderOf('volumes', volumeId)}/`);
  };
  return {
    stage: done,
    unstage: done,
    publish: async (volume, { path }) => {
      const data = folder.dataOf(volume);
      const found = await orAbsent(lstat(path));
      if (found === undefined) await symlink(data, path);
      else if (!found.isSymbolicLink() || (await readlink(path)) !== data) throw new Error(`${path} is in use`);
    },
    unpublish: async (volumeId, path) => {
      if (await isForeign(volumeId, path)) throw new Error(`something else is at ${path}`);
      await orAbsent(unlink(path));
    },
    isForeign,
    grow: done,
    missing: async () => [],
    release: done,
    frozen: async (_volumes, work) => await work(),
    thaw: done,
  };
}
