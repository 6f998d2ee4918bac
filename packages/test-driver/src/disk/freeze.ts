// SPDX-License-Identifier: Apache-2.0
/**
 * Copies of volumes in use. A file system is frozen, so that its image shows one point in time; a device has its cache written
 * out, so that all earlier writes are in the copy. A directory is copied as it is.
 */
import type { VolumeRecord } from '../core/records.ts';
import { run } from './command.ts';
import type { DataFolder } from './data-folder.ts';
import { loopDevices } from './mount-table.ts';
import type { OwnMounts } from './own-mounts.ts';

export interface FreezeDeps {
  readonly folder: DataFolder;
  readonly mounted: OwnMounts;
}

export async function whileFrozen(
  { folder, mounted }: FreezeDeps,
  volumes: readonly VolumeRecord[],
  work: () => Promise<void>,
): Promise<void> {
  // Thaws all of them in any case, even if one fails.
  await using frozen = new AsyncDisposableStack();
  for (const volume of volumes) {
    if (volume.layout === 'block') await flush(folder.dataOf(volume));
    const staged = volume.layout === 'filesystem' ? volume.stagings[0] : undefined;
    if (staged !== undefined && (await mounted.holds(volume.id, staged.path))) {
      await run({ program: 'fsfreeze', args: ['--freeze', staged.path] });
      frozen.defer(async () => await thaw(staged.path));
    }
  }
  await work();
}

/** Runs after a start, because a freeze outlives the driver that began it. */
export async function thawAll(mounted: OwnMounts): Promise<void> {
  const images = (await mounted.list()).filter(({ source }) => source.startsWith('/dev/loop'));
  await Promise.allSettled(images.map(async ({ path }) => await thaw(path))); // fails when not frozen: the normal case
}

async function thaw(path: string): Promise<void> {
  await run({ program: 'fsfreeze', args: ['--unfreeze', path] });
}

async function flush(image: string): Promise<void> {
  for (const device of await loopDevices(image)) await run({ program: 'blockdev', args: ['--flushbufs', device] });
}
