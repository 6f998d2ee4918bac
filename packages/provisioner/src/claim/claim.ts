// SPDX-License-Identifier: Apache-2.0
/** The meaning of single fields of a claim, for the loop, the cache's filter and the planner. */
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import { type Result, toVolumeName } from '@csi-sidecars/volume';
import { isKnownProvisioner } from '../driver.ts';
import { annotations } from '../names.ts';
import { annotationsOf } from '../metadata.ts';
import type { ProvisionerSettings } from '../settings.ts';

declare const claimUid: unique symbol;
/** Queue key of the claim loop. Minted by `uidOf` only. */
export type ClaimUid = string & { readonly [claimUid]: true };

export function uidOf(claim: PersistentVolumeClaim): ClaimUid {
  return (claim.metadata?.uid ?? '') as ClaimUid;
}

/** The GA annotation takes precedence over the beta one, even if it names another driver. Undefined if the claim names no provisioner. */
function provisionerOf(claim: PersistentVolumeClaim): string | undefined {
  const all = annotationsOf(claim);
  return all[annotations.storageProvisioner] ?? all[annotations.betaStorageProvisioner];
}

/** The PV controller requests this driver, by its own name or by the in-tree plugin that was migrated to it. */
export function isOurs(claim: PersistentVolumeClaim, driverName: string): boolean {
  const provisioner = provisionerOf(claim);
  const isAsked = provisioner === driverName || annotationsOf(claim)[annotations.migratedTo] === driverName;
  return isAsked && isKnownProvisioner(driverName, provisioner);
}

/** Some provisioner was asked for a volume. With late binding that is when a node has been selected. */
export function isRequested(claim: PersistentVolumeClaim): boolean {
  return provisionerOf(claim) !== undefined;
}

/** Empty means immediate binding as far as topology is concerned. */
export function selectedNodeOf(claim: PersistentVolumeClaim): string {
  const all = annotationsOf(claim);
  return all[annotations.selectedNode] ?? all[annotations.alphaSelectedNode] ?? '';
}

/** By the scheduler, or by an instance of the node. Empty: none. */
export function chosenNodeOf(claim: PersistentVolumeClaim): string {
  return annotationsOf(claim)[annotations.selectedNode] ?? '';
}

/** A class that binds late gets a node before provisioning begins; the alpha annotation is ignored here. */
export function waitsForNode(claim: PersistentVolumeClaim, storageClass: StorageClass): boolean {
  return storageClass.volumeBindingMode === 'WaitForFirstConsumer' && chosenNodeOf(claim) === '';
}

/** True for an empty annotation as well: it can be removed. */
export function hasSelectedNode(claim: PersistentVolumeClaim): boolean {
  return Object.hasOwn(annotationsOf(claim), annotations.selectedNode);
}

export function isBlock(claim: PersistentVolumeClaim): boolean {
  return claim.spec?.volumeMode === 'Block';
}

/** A PersistentVolume without an owner counts: the claim's name is in its own. */
export function isRecordOf(volume: PersistentVolume, uid: ClaimUid): boolean {
  const owner = volume.spec?.claimRef;
  return owner?.uid === undefined || owner.uid === uid;
}

/** The name in CreateVolume for the claim, which is also that of its PersistentVolume. */
export function volumeNameFor(uid: ClaimUid, settings: ProvisionerSettings): Result<string> {
  return toVolumeName(uid, { prefix: settings.volumeNamePrefix, uuidLength: settings.volumeNameUuidLength });
}
