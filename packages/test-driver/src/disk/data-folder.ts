// SPDX-License-Identifier: Apache-2.0
/**
 * The data itself, without mounts: per volume and per snapshot one folder that holds either `data` (a directory) or
 * `image` (a sparse file). A folder is created under another name and then renamed, so that every folder in place is complete; copies share
 * blocks where the file system can (reflink).
 */
import { chmod, mkdir, open, rename, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { Content } from '../core/backend.ts';
import type { Layout, SnapshotRecord, VolumeRecord } from '../core/records.ts';
import { run } from './command.ts';
import { exists, fileName, namesIn } from './files.ts';

type Holder = 'volumes' | 'snapshots';

export class DataFolder {
  /** Absolute, without symbolic links. */
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  folderOf(holder: Holder, id: string): string {
    return join(this.path, holder, fileName(id));
  }

  dataOf(volume: VolumeRecord): string {
    return join(this.folderOf('volumes', volume.id), partOf(volume.layout));
  }

  snapshotDataOf(snapshot: SnapshotRecord): string {
    return join(this.folderOf('snapshots', snapshot.id), partOf(snapshot.layout));
  }

  /** The id (as a file name) to which a path relative to this folder belongs. */
  static volumeNameOf(origin: string): string | undefined {
    return /^volumes\/([^/]+)\//.exec(origin)?.[1];
  }

  async prepare(): Promise<void> {
    for (const folder of ['volumes', 'snapshots', 'tmp']) await mkdir(join(this.path, folder), { recursive: true });
  }

  async createVolume(volume: VolumeRecord, content: Content): Promise<void> {
    await this.#build('volumes', volume.id, async (folder) => {
      const target = join(folder, partOf(volume.layout));
      if (content.kind === 'empty') await createEmpty(target, volume.layout);
      else await copy(this.#sourceOf(content), target);
      if (volume.layout !== 'directory') await grow(target, volume.capacityBytes);
    });
  }

  #sourceOf(content: Exclude<Content, { readonly kind: 'empty' }>): string {
    return content.kind === 'snapshot' ? this.snapshotDataOf(content.snapshot) : this.dataOf(content.volume);
  }

  async createSnapshot(snapshot: SnapshotRecord, volume: VolumeRecord): Promise<void> {
    await this.#build('snapshots', snapshot.id, async (folder) => {
      await copy(this.dataOf(volume), join(folder, partOf(snapshot.layout)));
    });
  }

  async expandVolume(volume: VolumeRecord): Promise<void> {
    if (volume.layout !== 'directory') await grow(this.dataOf(volume), volume.capacityBytes);
  }

  async remove(holder: Holder, id: string): Promise<void> {
    await rm(this.folderOf(holder, id), { recursive: true, force: true });
  }

  /** The folders that belong to none of the known ids. */
  async strangers(holder: Holder, known: ReadonlySet<string>): Promise<readonly string[]> {
    const names = new Set([...known].map(fileName));
    const found = await namesIn(join(this.path, holder));
    return found.filter((name) => !names.has(name)).map((name) => join(this.path, holder, name));
  }

  async emptyWorkshop(): Promise<void> {
    await rm(join(this.path, 'tmp'), { recursive: true, force: true });
    await mkdir(join(this.path, 'tmp'));
  }

  async #build(holder: Holder, id: string, fill: (folder: string) => Promise<void>): Promise<void> {
    const target = this.folderOf(holder, id);
    if (await exists(target)) return;
    const workshop = join(this.path, 'tmp', `${holder}-${fileName(id)}`);
    await rm(workshop, { recursive: true, force: true });
    await mkdir(workshop);
    try {
      await fill(workshop);
      await rename(workshop, target);
    } catch (error) {
      await rm(workshop, { recursive: true, force: true });
      throw error;
    }
  }
}

function partOf(layout: Layout): string {
  return layout === 'directory' ? 'data' : 'image';
}

async function createEmpty(target: string, layout: Layout): Promise<void> {
  if (layout !== 'directory') return await (await open(target, 'w', 0o600)).close();
  await mkdir(target);
  await chmod(target, 0o777); // pods run as any user
}

async function copy(source: string, target: string): Promise<void> {
  await run({ program: 'cp', args: ['--archive', '--reflink=auto', '--sparse=auto', source, target] });
}

async function grow(image: string, bytes: bigint): Promise<void> {
  if (BigInt((await stat(image)).size) < bytes) await truncate(image, Number(bytes));
}
