// SPDX-License-Identifier: Apache-2.0
/** What single fields of a claim mean. The loop, the cache's filter and the planner read them through here. */
import type { PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
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

/** The GA annotation wins over the beta one, even with a foreign value. Undefined: no provisioner was asked. */
function provisionerOf(claim: PersistentVolumeClaim): string | undefined {
  const all = annotationsOf(claim);
  return all[annotations.storageProvisioner] ?? all[annotations.betaStorageProvisioner];
}

/** The PV controller asks this driver, by its own name or for the in-tree plugin that was migrated to it. */
export function isOurs(claim: PersistentVolumeClaim, driverName: string): boolean {
  const provisioner = provisionerOf(claim);
  const isAsked = provisioner === driverName || annotationsOf(claim)[annotations.migratedTo] === driverName;
  return isAsked && isKnownProvisioner(driverName, provisioner);
}

/** Empty: immediate binding as far as topology is concerned. */
export function selectedNodeOf(claim: PersistentVolumeClaim): string {
  const all = annotationsOf(claim);
  return all[annotations.selectedNode] ?? all[annotations.alphaSelectedNode] ?? '';
}

/** A class that binds late has a node before anybody provisions; the alpha annotation does not count here. */
export function waitsForNode(claim: PersistentVolumeClaim, storageClass: StorageClass): boolean {
  const hasNode = (annotationsOf(claim)[annotations.selectedNode] ?? '') !== '';
  return storageClass.volumeBindingMode === 'WaitForFirstConsumer' && !hasNode;
}

/** Also an empty annotation: it can be given back. */
export function hasSelectedNode(claim: PersistentVolumeClaim): boolean {
  return Object.hasOwn(annotationsOf(claim), annotations.selectedNode);
}

export function isBlock(claim: PersistentVolumeClaim): boolean {
  return claim.spec?.volumeMode === 'Block';
}

/** CreateVolume's name for the claim, and that of its PersistentVolume. */
export function volumeNameFor(uid: ClaimUid, settings: ProvisionerSettings): Result<string> {
  return toVolumeName(uid, { prefix: settings.volumeNamePrefix, uuidLength: settings.volumeNameUuidLength });
}
