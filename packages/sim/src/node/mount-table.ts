// SPDX-License-Identifier: Apache-2.0
/**
 * A node's own record of its mounts. It outlives the API objects: a volume stays here, with the data needed to unmount
 * it, until its last mount is gone. It is kept in memory; a restarted emulator begins with a clean node.
 */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { uniqueVolumeName } from '../attach-detach/attachments.ts';

export interface Mount {
  readonly volume: PersistentVolume;
  readonly staged: boolean;
  /** Pod uid -> target path. */
  readonly published: ReadonlyMap<string, string>;
}

export interface MountTable {
  readonly get: (volumeName: string) => Mount | undefined;
  readonly set: (volumeName: string, mount: Mount) => void;
  readonly delete: (volumeName: string) => void;
  readonly volumeNames: () => readonly string[];
  /** The volumes, by their names in `volumesInUse`. */
  readonly inUse: () => readonly string[];
  /** Volumes that a pod has mounted. */
  readonly publishedFor: (podUid: string) => readonly string[];
}

export function createMountTable(): MountTable {
  const mounts = new Map<string, Mount>();
  return {
    get: (name) => mounts.get(name),
    set: (name, mount) => void mounts.set(name, mount),
    delete: (name) => void mounts.delete(name),
    volumeNames: () => [...mounts.keys()],
    inUse: () => [...mounts.values()].map(({ volume }) => uniqueVolumeName(volume)).toSorted(),
    publishedFor: (uid) => [...mounts].filter(([, { published }]) => published.has(uid)).map(([name]) => name),
  };
}
