// SPDX-License-Identifier: Apache-2.0
/**
 * With root: bind mounts for directories, loop devices for images. The kernel's mount table is the truth about what is
 * mounted, not our records: after a crash or a reboot the two differ, and the repeated call makes them agree.
 */
import { lstat, mkdir, open, readdir, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Access, VolumeRecord } from '../core/records.ts';
import { run } from './command.ts';
import { DataFolder } from './data-folder.ts';
import { attach, detach, ensureFileSystem, followSize, growMounted, growUnmounted } from './devices.ts';
import { fileName, orAbsent } from './files.ts';
import { loopDevices, mountAt, mountTable, originIn } from './mount-table.ts';
import type { Mounts } from './mounts.ts';

/** Flags of a mount point rather than of a file system: all that a bind mount can have. */
const bindFlags: readonly string[] = ['ro', 'noexec', 'nosuid', 'nodev', 'noatime', 'nodiratime', 'relatime'];

export function kernelMounts(folder: DataFolder): Mounts {
  return {
    stage: async (volume, { path, access }) => {
      if (volume.layout === 'block') await attach(folder.dataOf(volume));
      else await stageAt(volume, await realpath(path), access);
    },
    unstage: async (volume, path) => {
      const place = await orAbsent(realpath(path));
      if (place !== undefined && (await volumeAt(place)) === fileName(volume.id)) await unmount(place);
      const elsewhere = volume.stagings.some((staging) => staging.path !== path);
      if (volume.layout !== 'directory' && !elsewhere) await detach(folder.dataOf(volume));
    },
    publish: async (volume, publication) => {
      const target = await placeOf(publication.path);
      if (volume.layout === 'block') {
        await (await open(target, 'a', 0o660)).close();
        return await ensureMounted(volume, target, async () => await bind(await attach(folder.dataOf(volume)), target));
      }
      await mkdir(target).catch(ignoreExisting);
      await ensureMounted(volume, target, async () => await bind(await sourceOf(volume, publication), target));
      const readonly = publication.readonly || publication.access.mode.endsWith('READER_ONLY');
      const flags = [
        ...(readonly ? ['ro'] : []),
        ...publication.access.mountFlags.filter((flag) => bindFlags.includes(flag)),
      ];
      if (flags.length > 0)
        await run({ program: 'mount', args: ['-o', ['remount', 'bind', ...flags].join(','), target] });
    },
    unpublish: async (volumeId, path) => {
      const target = await orAbsent(placeOf(path));
      if (target === undefined) return;
      if (await isForeign(volumeId, target)) throw new Error(`something else is at ${path}`);
      while (mountAt(await mountTable(), target) !== undefined) await unmount(target);
      await removePlace(target);
    },
    isForeign: async (volumeId, path) => {
      const target = await orAbsent(placeOf(path));
      return target !== undefined && (await isForeign(volumeId, target));
    },
    grow: async (volume, path) => {
      const devices = await loopDevices(folder.dataOf(volume));
      for (const device of devices) {
        await followSize(device);
        if (volume.layout === 'filesystem') await growMounted(device, path);
      }
    },
    missing: async (volume) => {
      const mounted = volume.layout === 'block' ? [] : volume.stagings;
      const paths = [...mounted, ...volume.publications].map(({ path }) => path);
      const found = await Promise.all(paths.map(async (path) => (await volumeAt(path)) === fileName(volume.id)));
      return paths.filter((_path, index) => found[index] !== true);
    },
    release: async (path) => {
      for (const entry of await ownMounts())
        if (join(folder.path, entry.origin).startsWith(`${path}/`)) await unmountLazily(entry.path);
      await detach(path);
      await orAbsent(rmdir(ownPlaceOf(basename(path))));
    },
    frozen,
    thaw: async () => {
      for (const entry of await ownMounts()) {
        if (entry.source.startsWith('/dev/loop')) {
          // Fails when it is not frozen, which is the normal case.
          await run({ program: 'fsfreeze', args: ['--unfreeze', entry.path] }).catch(() => undefined);
        }
      }
    },
  };

  /** Mounts the volume at a folder that exists. */
  async function stageAt(volume: VolumeRecord, path: string, access: Access): Promise<void> {
    await ensureMounted(volume, path, async () => {
      const data = folder.dataOf(volume);
      if (volume.layout === 'directory') return await bind(data, path);
      const device = await attach(data);
      await followSize(device);
      const type = await ensureFileSystem(device, data, access.fsType);
      // A copy of an XFS file system has the identity of its source, which may be mounted too.
      const flags = [...access.mountFlags, ...(type === 'xfs' ? ['nouuid'] : [])];
      await growUnmounted(device, type);
      const options = flags.length > 0 ? ['-o', flags.join(',')] : [];
      await run({ program: 'mount', args: ['-t', type, ...options, device, path] });
      if (type === 'xfs') await growMounted(device, path);
    });
  }

  function ownPlaceOf(name: string): string {
    return join(folder.path, 'mounts', name);
  }

  /** Without staging an image is mounted once in our own folder, until the volume is deleted. */
  async function sourceOf(volume: VolumeRecord, publication: { stagingPath: string; access: Access }): Promise<string> {
    if (publication.stagingPath !== '') return await realpath(publication.stagingPath);
    if (volume.layout === 'directory') return folder.dataOf(volume);
    const path = ownPlaceOf(fileName(volume.id));
    await mkdir(path, { recursive: true });
    await stageAt(volume, path, publication.access);
    return path;
  }

  async function ensureMounted(volume: VolumeRecord, path: string, mount: () => Promise<void>): Promise<void> {
    const held = await volumeAt(path);
    if (held === undefined) return await mount();
    if (held !== fileName(volume.id)) throw new Error(`something else is mounted at ${path}`);
  }

  /** The file name of the volume mounted there, an empty string for anything else, undefined for nothing. */
  async function volumeAt(path: string): Promise<string | undefined> {
    const table = await mountTable();
    const entry = mountAt(table, path);
    if (entry === undefined) return undefined;
    const origin = await originIn(folder.path, table, entry);
    return (origin !== undefined && DataFolder.volumeNameOf(origin)) || '';
  }

  async function ownMounts(): Promise<readonly { path: string; source: string; origin: string }[]> {
    const table = await mountTable();
    const origins = await Promise.all(
      table.map(async (entry) => ({ entry, origin: await originIn(folder.path, table, entry) })),
    );
    return origins.flatMap(({ entry: { path, source }, origin }) =>
      origin === undefined ? [] : [{ path, source, origin }],
    );
  }

  async function isForeign(volumeId: string, target: string): Promise<boolean> {
    const held = await volumeAt(target);
    if (held !== undefined) return held !== fileName(volumeId);
    const found = await orAbsent(lstat(target));
    if (found === undefined) return false;
    return found.isDirectory() ? (await readdir(target)).length > 0 : found.size > 0;
  }

  async function frozen(volumes: readonly VolumeRecord[], work: () => Promise<void>): Promise<void> {
    const paths: string[] = [];
    try {
      for (const volume of volumes) {
        if (volume.layout === 'block') {
          for (const device of await loopDevices(folder.dataOf(volume)))
            await run({ program: 'blockdev', args: ['--flushbufs', device] });
        }
        const staging = volume.layout === 'filesystem' ? volume.stagings[0] : undefined;
        if (staging !== undefined && (await volumeAt(await realpath(staging.path))) === fileName(volume.id)) {
          await run({ program: 'fsfreeze', args: ['--freeze', staging.path] });
          paths.push(staging.path);
        }
      }
      await work();
    } finally {
      for (const path of paths) await run({ program: 'fsfreeze', args: ['--unfreeze', path] });
    }
  }
}

/** The parent must exist: the caller makes it. Links on the way are followed, as the mount table does. */
async function placeOf(path: string): Promise<string> {
  return join(await realpath(dirname(path)), basename(path));
}

async function bind(source: string, target: string): Promise<void> {
  await run({ program: 'mount', args: ['--bind', source, target] });
}

async function unmount(path: string): Promise<void> {
  await run({ program: 'umount', args: [path] });
}

async function unmountLazily(path: string): Promise<void> {
  await run({ program: 'umount', args: ['--lazy', path] });
}

/** Never recursive: what is not empty is somebody's data. */
async function removePlace(target: string): Promise<void> {
  const found = await orAbsent(lstat(target));
  if (found?.isDirectory() === true) await rmdir(target);
  else if (found !== undefined) await unlink(target);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
