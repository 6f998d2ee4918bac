// SPDX-License-Identifier: Apache-2.0
/**
 * Mounts with root: bind mounts for directories, loop devices for images. The kernel's mount table decides what is
 * mounted, not our records: after a crash or a reboot the two differ, and the repeated call makes them agree.
 */
import { lstat, mkdir, open, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Access, Publication, VolumeRecord } from '../core/records.ts';
import { run } from './command.ts';
import type { DataFolder } from './data-folder.ts';
import { attach, detach, ensureFileSystem, followSize, growMounted, growUnmounted } from './devices.ts';
import { fileName, orAbsent } from './files.ts';
import { thawAll, whileFrozen } from './freeze.ts';
import { loopDevices } from './mount-table.ts';
import type { Mounts } from './mounts.ts';
import { ownMounts, placeOf } from './own-mounts.ts';

/** Flags of a mount point rather than of a file system: all that a bind mount can have. */
const bindFlags: readonly string[] = ['ro', 'noexec', 'nosuid', 'nodev', 'noatime', 'nodiratime', 'relatime'];

export function kernelMounts(folder: DataFolder): Mounts {
  const mounted = ownMounts(folder);

  /** Mounts the volume at a folder that exists. */
  async function mountData(volume: VolumeRecord, path: string, access: Access): Promise<void> {
    await ensureMounted(volume, path, async () => {
      const data = folder.dataOf(volume);
      if (volume.layout === 'directory') return await bind(data, path);
      const device = await attach(data);
      await followSize(device);
      const type = await ensureFileSystem(device, data, access.fsType);
      await growUnmounted(device, type);
      // A copy of an XFS file system has the UUID of its source, which may be mounted too.
      const flags = [...access.mountFlags, ...(type === 'xfs' ? ['nouuid'] : [])];
      const options = flags.length > 0 ? ['-o', flags.join(',')] : [];
      await run({ program: 'mount', args: ['-t', type, ...options, device, path] });
      if (type === 'xfs') await growMounted(device, path);
    });
    await giveToGroup(path, access);
  }

  async function ensureMounted(volume: VolumeRecord, place: string, mount: () => Promise<void>): Promise<void> {
    const held = await mounted.at(place);
    if (held.kind === 'nothing') return await mount();
    if (held.kind === 'foreign' || held.name !== fileName(volume.id)) {
      throw new Error(`something else is mounted at ${place}`);
    }
  }

  function ownPlaceOf(name: string): string {
    return join(folder.path, 'mounts', name);
  }

  /** Without staging the volume is mounted once in our own folder, until it is deleted. */
  async function sourceOf(volume: VolumeRecord, { stagingPath, access }: Publication): Promise<string> {
    if (stagingPath !== '') {
      if (await mounted.holds(volume.id, stagingPath)) return await realpath(stagingPath);
      throw new Error(`volume ${volume.id} is not mounted at ${stagingPath}`);
    }
    const place = ownPlaceOf(fileName(volume.id));
    await mkdir(place, { recursive: true });
    await mountData(volume, place, access);
    return place;
  }

  async function publishDevice(volume: VolumeRecord, target: string): Promise<void> {
    await (await open(target, 'a', 0o660)).close();
    await ensureMounted(volume, target, async () => await bind(await attach(folder.dataOf(volume)), target));
  }

  return {
    stage: async (volume, { path, access }) => {
      if (volume.layout === 'block') await attach(folder.dataOf(volume));
      else await mountData(volume, await realpath(path), access);
    },
    unstage: async (volume, path) => {
      if (await mounted.holds(volume.id, path)) await unmount(path);
      const elsewhere = volume.stagings.some((staging) => staging.path !== path);
      if (volume.layout !== 'directory' && !elsewhere) await detach(folder.dataOf(volume));
    },
    publish: async (volume, publication) => {
      const target = await placeOf(publication.path);
      if (volume.layout === 'block') return await publishDevice(volume, target);
      await mkdir(target).catch(ignoreExisting);
      await ensureMounted(volume, target, async () => await bind(await sourceOf(volume, publication), target));
      await remount(target, publication);
    },
    unpublish: async (volumeId, path) => {
      const target = await orAbsent(placeOf(path));
      if (target === undefined) return;
      if (await mounted.isForeign(volumeId, target)) throw new Error(`something else is at ${path}`);
      while ((await mounted.at(target)).kind === 'volume') await unmount(target);
      await removePlace(target);
    },
    isForeign: async (volumeId, path) => {
      const target = await orAbsent(placeOf(path));
      return target !== undefined && (await mounted.isForeign(volumeId, target));
    },
    grow: async (volume, path) => {
      for (const device of await loopDevices(folder.dataOf(volume))) {
        await followSize(device);
        if (volume.layout === 'filesystem') await growMounted(device, path);
      }
    },
    missing: async (volume) => {
      const stagings = volume.layout === 'block' ? [] : volume.stagings;
      const checks = [...stagings, ...volume.publications].map(async ({ path }) =>
        (await mounted.holds(volume.id, path)) ? [] : [path],
      );
      return (await Promise.all(checks)).flat();
    },
    release: async (path) => {
      for (const { origin, path: place } of await mounted.list()) {
        if (join(folder.path, origin).startsWith(`${path}/`)) await unmountLazily(place);
      }
      await detach(path);
      await orAbsent(rmdir(ownPlaceOf(basename(path))));
    },
    frozen: async (volumes, work) => await whileFrozen({ folder, mounted }, volumes, work),
    thaw: async () => await thawAll(mounted),
  };
}

/** Applies the mount options of a publication to a bind mount; repeating it changes nothing. */
async function remount(target: string, { readonly, access }: Publication): Promise<void> {
  const locked = readonly || access.mode.endsWith('READER_ONLY');
  const flags = [...(locked ? ['ro'] : []), ...access.mountFlags.filter((flag) => bindFlags.includes(flag))];
  if (flags.length === 0) return;
  await run({ program: 'mount', args: ['-o', ['remount', 'bind', ...flags].join(','), target] });
}

/** Delegated by kubelet with VOLUME_MOUNT_GROUP: existing and future files belong to the pod's group. */
async function giveToGroup(path: string, { mountGroup }: Access): Promise<void> {
  if (mountGroup === '') return;
  await run({ program: 'chgrp', args: ['--recursive', '--no-dereference', mountGroup, path] });
  await run({ program: 'chmod', args: ['--recursive', 'g+rwX', path] });
  await run({ program: 'chmod', args: ['g+s', path] });
}

async function bind(source: string, target: string): Promise<void> {
  await run({ program: 'mount', args: ['--bind', source, target] });
}

async function unmount(path: string): Promise<void> {
  await run({ program: 'umount', args: [path] });
}

/** Processes that have files open keep them; the path is gone for all others. */
async function unmountLazily(path: string): Promise<void> {
  await run({ program: 'umount', args: ['--lazy', path] });
}

/** Never recursive: a folder that is not empty contains data. */
async function removePlace(target: string): Promise<void> {
  const found = await orAbsent(lstat(target));
  if (found?.isDirectory() === true) await rmdir(target);
  else if (found !== undefined) await unlink(target);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
