// SPDX-License-Identifier: Apache-2.0
/** Writes to PersistentVolumes: strategic merge patches that name single fields and carry the UID. */
import { type Cache, type LoopPorts, type PersistentVolume, persistentVolumes } from '@csi-sidecars/runtime';
import { retryConflicts } from './retry-conflicts.ts';

export interface WriteVolumeDeps extends Pick<LoopPorts, 'client'> {
  readonly volumes: Cache<PersistentVolume>;
  readonly signal: AbortSignal;
}

export interface VolumePatch {
  readonly annotations?: Readonly<Record<string, string | null>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Resolves with the PersistentVolume as it is stored then; rejects as the client does. */
export async function patchVolume(
  { client, volumes, signal }: WriteVolumeDeps,
  volume: PersistentVolume,
  { annotations, spec }: VolumePatch,
): Promise<PersistentVolume> {
  const { name = '', uid } = volume.metadata ?? {};
  const body = { metadata: { uid, annotations }, spec };
  const target = { resource: persistentVolumes, ref: { name } };
  const stored = await retryConflicts(() => client.patch(target, { type: 'strategic', body }, { signal }));
  volumes.remember(stored);
  return stored;
}
