// SPDX-License-Identifier: Apache-2.0
/** The meaning of single fields of a PersistentVolume, for the loop, its queue and the cache's filter. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import {
  type CsiVolume,
  isReachableFrom,
  ok,
  refuse,
  type Result,
  toCsiNodeAffinity,
  translateInTree,
} from '@csi-sidecars/volume';
import { isKnownProvisioner } from '../driver.ts';
import { annotations, volumeFinalizer } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import type { NodeDeployment } from '../settings.ts';
import * as messages from './messages.ts';

/** Dynamically provisioned by us, or a static volume of our driver, or migrated to it. */
export function isOurs(volume: PersistentVolume, driverName: string): boolean {
  const all = annotationsOf(volume);
  const migratedTo = all[annotations.migratedTo];
  const provisionedBy = all[annotations.provisionedBy];
  if (provisionedBy !== undefined) {
    return isKnownProvisioner(driverName, provisionedBy) || isKnownProvisioner(driverName, migratedTo);
  }
  const csi = volume.spec?.csi;
  return isKnownProvisioner(driverName, csi === undefined ? migratedTo : csi.driver);
}

/** V6: the volume as the driver knows it. */
export function toDriverVolume(volume: PersistentVolume, driverName: string): Result<CsiVolume> {
  const translated = translateInTree(volume);
  if (translated?.kind === 'ok') {
    const { driver } = translated.value.csi;
    return driver === driverName ? translated : refuse(messages.ofOtherDriver(driver));
  }
  if (translated !== undefined) return translated;
  const { csi, accessModes = [] } = volume.spec ?? {};
  if (csi === undefined) return refuse(messages.notCsi);
  // To this driver the handle means nothing, or another volume.
  if (csi.driver !== driverName) return refuse(messages.ofOtherDriver(csi.driver));
  return ok({ csi, accessModes, migrated: false });
}

/** Node deployment: this node cannot reach the volume. */
export function isElsewhere(volume: PersistentVolume, node: Pick<NodeDeployment, 'segments'> | undefined): boolean {
  return node !== undefined && !isReachableFrom(toCsiNodeAffinity(volume), node.segments);
}

export function hasFinalizer(volume: PersistentVolume): boolean {
  return volume.metadata?.finalizers?.includes(volumeFinalizer) === true;
}

function isBeingDeleted(volume: PersistentVolume): boolean {
  return volume.metadata?.deletionTimestamp !== undefined;
}

/** V2, V3: the change of the finalizer that is needed, if any. */
export function finalizerChange(volume: PersistentVolume): 'add' | 'remove' | 'none' {
  const policy = volume.spec?.persistentVolumeReclaimPolicy;
  const isThere = hasFinalizer(volume);
  if (policy === 'Retain' || policy === 'Recycle') return isThere ? 'remove' : 'none';
  const isInUse = policy === 'Delete' && volume.status?.phase === 'Bound' && !isBeingDeleted(volume);
  return isInUse && !isThere ? 'add' : 'none';
}

/** V5: the claim is gone and the volume should be deleted too. Without our finalizer it has already been deleted. */
export function isToBeDeleted(volume: PersistentVolume): boolean {
  if (isBeingDeleted(volume) && !hasFinalizer(volume)) return false;
  return volume.status?.phase === 'Released' && volume.spec?.persistentVolumeReclaimPolicy === 'Delete';
}

/** Whether the loop has anything to do: most volumes are bound and need no change. */
export function needsWork(volume: PersistentVolume): boolean {
  return finalizerChange(volume) !== 'none' || isToBeDeleted(volume);
}
