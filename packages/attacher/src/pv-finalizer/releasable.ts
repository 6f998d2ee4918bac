// SPDX-License-Identifier: Apache-2.0
/** Whether a PersistentVolume may lose our finalizer. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { isInTree } from '@csi-sidecars/volume';
import { annotations, finalizerOf } from '../names.ts';

/** It has our finalizer, and a reason to lose it: it is being deleted, or its in-tree plugin serves it again instead of us. */
export function isReleasable(volume: PersistentVolume, driverName: string): boolean {
  const { deletionTimestamp, finalizers = [] } = volume.metadata ?? {};
  if (!finalizers.includes(finalizerOf(driverName))) return false;
  return deletionTimestamp !== undefined || isRolledBack(volume, driverName);
}

/** An in-tree volume that was migrated to us, and is not any more. */
function isRolledBack(volume: PersistentVolume, driverName: string): boolean {
  return isInTree(volume) && volume.metadata?.annotations?.[annotations.migratedTo] !== driverName;
}
