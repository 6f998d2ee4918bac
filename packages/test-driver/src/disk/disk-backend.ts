// SPDX-License-Identifier: Apache-2.0
/** The storage of the program: data in a folder, mounted at paths. */
import { open, rm, stat, statfs } from 'node:fs/promises';
import type { Backend, SnapshotImage, Usage } from '../core/backend.ts';
import type { HealthEntry, VolumeRecord } from '../core/records.ts';
import { run } from './command.ts';
import type { DataFolder } from './data-folder.ts';
import { exists } from './files.ts';
import type { Mounts } from './mounts.ts';

export function diskBackend(folder: DataFolder, mounts: Mounts): Backend {
  return {
    createVolume: async (volume, content) => {
      const sources = content.kind === 'volume' ? [content.volume] : [];
      await mounts.frozen(sources, async () => await folder.createVolume(volume, content));
    },
    deleteVolume: async (volume) => {
      await mounts.release(folder.folderOf('volumes', volume.id));
      await folder.remove('volumes', volume.id);
    },
    expandVolume: async (volume) => await folder.expandVolume(volume),
    createSnapshots: async (cuts) => {
      await mounts.frozen(
        cuts.map(({ volume }) => volume),
        async () => {
          for (const { snapshot, volume } of cuts) await folder.createSnapshot(snapshot, volume);
        },
      );
    },
    deleteSnapshot: async (snapshot) => await folder.remove('snapshots', snapshot.id),
    openSnapshot: async (snapshot) => await openImage(folder.snapshotDataOf(snapshot)),
    stage: async (volume, staging) => await mounts.stage(volume, staging),
    unstage: async (volume, path) => await mounts.unstage(volume, path),
    publish: async (volume, publication) => await mounts.publish(volume, publication),
    unpublish: async (volumeId, path) => await mounts.unpublish(volumeId, path),
    isForeign: async (volumeId, path) => await mounts.isForeign(volumeId, path),
    growFileSystem: async (volume, path) => await mounts.grow(volume, path),
    usage: async (volume, path) => await usageOf(folder, volume, path),
    health: async (volume) => await healthOf(folder, mounts, volume),
    sweep: async (known) => {
      await mounts.thaw();
      await folder.prepare();
      await folder.emptyWorkshop();
      for (const holder of ['volumes', 'snapshots'] as const) {
        for (const stranger of await folder.strangers(holder, known[holder])) {
          await mounts.release(stranger);
          await rm(stranger, { recursive: true, force: true });
        }
      }
    },
  };
}

async function openImage(path: string): Promise<SnapshotImage> {
  const file = await open(path, 'r');
  const { size } = await file.stat();
  return {
    sizeBytes: size,
    read: async (offset, into) => {
      const { bytesRead } = await file.read(into, 0, into.length, offset);
      into.fill(0, bytesRead);
    },
    [Symbol.asyncDispose]: async () => await file.close(),
  };
}

async function usageOf(folder: DataFolder, volume: VolumeRecord, path: string): Promise<readonly Usage[]> {
  if (volume.layout === 'block') {
    const total = BigInt((await stat(folder.dataOf(volume))).size);
    return [{ unit: 'BYTES', total, available: undefined, used: undefined }];
  }
  const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(path, { bigint: true });
  const inodes: Usage = { unit: 'INODES', total: files, available: ffree, used: files - ffree };
  if (volume.layout === 'filesystem') {
    const bytes: Usage = {
      unit: 'BYTES',
      total: blocks * bsize,
      available: bavail * bsize,
      used: (blocks - bfree) * bsize,
    };
    return [bytes, inodes];
  }
  // A directory reports its requested size, and the free space of the file system below it.
  const used = BigInt(
    (await run({ program: 'du', args: ['-s', '--block-size=1', folder.dataOf(volume)] })).split('\t')[0] ?? '0',
  );
  const total = volume.capacityBytes;
  const rest = total > used ? total - used : 0n;
  const left = bavail * bsize;
  return [{ unit: 'BYTES', total, available: rest < left ? rest : left, used }, inodes];
}

async function healthOf(folder: DataFolder, mounts: Mounts, volume: VolumeRecord): Promise<readonly HealthEntry[]> {
  if (!(await exists(folder.dataOf(volume))))
    return [{ status: 'DATA_LOSS', reason: 'DataMissing', message: 'the data of the volume is missing' }];
  const missing = await mounts.missing(volume);
  if (missing.length === 0) return [];
  const message = `the volume is not mounted at ${missing.join(', ')}`;
  return [{ status: 'INACCESSIBLE', reason: 'NotMounted', message }];
}
