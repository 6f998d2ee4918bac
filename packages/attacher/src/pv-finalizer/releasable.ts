// SPDX-License-Identifier: Apache-2.0
/** Decides whether a PersistentVolume may lose our finalizer. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { isInTree } from '@csi-sidecars/volume';
import { annotations, finalizerOf } from '../names.ts';

/** True if the volume has our finalizer and either is being deleted, or is an in-tree volume that is not migrated to us. */
export function isReleasable(volume: PersistentVolume, driverName: string): boolean {
  const { deletionTimestamp, finalizers = [] } = volume.metadata ?? {};
  if (!finalizers.includes(finalizerOf(driverName))) return false;
  return deletionTimestamp !== undefined || isRolledBack(volume, driverName);
}

/** True for an in-tree volume that is not, or no longer, migrated to us. */
function isRolledBack(volume: PersistentVolume, driverName: string): boolean {
  return isInTree(volume) && volume.metadata?.annotations?.[annotations.migratedTo] !== driverName;
}
