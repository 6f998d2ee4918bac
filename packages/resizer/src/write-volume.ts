// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to PersistentVolumes: strategic merge patches that name single fields and carry the UID and the resource version. A second
 * replica, or this process frozen past its lease, may have written a later size or class. Roles need not allow to get a PersistentVolume.
 */
import {
  type Cache,
  changeObject,
  gettingByList,
  type LoopPorts,
  type PersistentVolume,
  persistentVolumes,
} from '@csi-sidecars/runtime';

export interface WriteVolumeDeps extends Pick<LoopPorts, 'client' | 'clock' | 'random'> {
  readonly caches: { readonly volumes: Cache<PersistentVolume> };
  readonly signal: AbortSignal;
}

export interface VolumePatch {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/**
 * Resolves with the PersistentVolume as it is stored then; rejects as the client does. After a conflict it is read, and `patchOf` is asked
 * again; undefined: nothing is to be written any more.
 */
export function changeVolume(
  { client, clock, random, caches, signal }: WriteVolumeDeps,
  volume: PersistentVolume,
  patchOf: (volume: PersistentVolume) => VolumePatch | undefined,
): Promise<PersistentVolume> {
  const patch = (known: PersistentVolume): Readonly<Record<string, unknown>> | undefined => {
    const wanted = patchOf(known);
    return wanted && { metadata: { annotations: wanted.annotations }, spec: wanted.spec };
  };
  return changeObject<PersistentVolume>(
    {
      client: { patch: (...write) => client.patch(...write), ...gettingByList(client) },
      clock,
      random,
      cache: caches.volumes,
    },
    { resource: persistentVolumes, object: volume, type: 'strategic', patch },
    { signal },
  );
}
