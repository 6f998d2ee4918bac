// SPDX-License-Identifier: Apache-2.0
/** What single fields of a claim mean. */
import { keyOf, type ObjectKey, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { Quantity } from '@csi-sidecars/volume';
import { isLess, toSize } from './size.ts';

/** The key of both loops: namespace and name of the claim. */
export type ClaimKey = ObjectKey;
export type Claim = PersistentVolumeClaim;
export type ClaimCondition = NonNullable<NonNullable<Claim['status']>['conditions']>[number];

export function claimKey(claim: Claim): ClaimKey {
  return keyOf(claim);
}

export function volumeNameOf({ spec }: Claim): string {
  return spec?.volumeName ?? '';
}

export function isBound({ status }: Claim): boolean {
  return status?.phase === 'Bound';
}

export function requestedSize({ spec }: Claim): Quantity {
  return toSize(spec?.resources?.requests?.['storage']);
}

/** The size that the claim has. */
export function capacityOf({ status }: Claim): Quantity {
  return toSize(status?.capacity?.['storage']);
}

/** There is something to expand. */
export function needsExpansion(claim: Claim): boolean {
  return isBound(claim) && isLess(capacityOf(claim), requestedSize(claim));
}

/** The size of the last expansion that was begun; undefined: none. */
export function allocatedSize({ status }: Claim): Quantity | undefined {
  const text = status?.allocatedResources?.['storage'];
  return text === undefined ? undefined : toSize(text);
}

/** Where the last expansion stands; empty: nowhere. */
export function resizeStatusOf({ status }: Claim): string {
  return status?.allocatedResourceStatuses?.['storage'] ?? '';
}

const underWay: readonly string[] = [
  'ControllerResizeInProgress',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
];

/** The claim shows that its allocated size is not finished, so that another size has to wait. */
export function isUnderWay(claim: Claim): boolean {
  return underWay.includes(resizeStatusOf(claim));
}

export function conditionsOf({ status }: Claim): readonly ClaimCondition[] {
  return status?.conditions ?? [];
}

export function hasCondition(claim: Claim, type: string): boolean {
  return conditionsOf(claim).some((condition) => condition.type === type && condition.status === 'True');
}

export function annotationOf(claim: Claim, name: string): string | undefined {
  return claim.metadata?.annotations?.[name];
}

/** The VolumeAttributesClass that the user wants; empty: any. */
export function wantedClassOf({ spec }: Claim): string {
  return spec?.volumeAttributesClassName ?? '';
}

/** The VolumeAttributesClass that the volume has; empty: unknown. */
export function currentClassOf({ status }: Claim): string {
  return status?.currentVolumeAttributesClassName ?? '';
}

export type ModifyStatus = NonNullable<NonNullable<Claim['status']>['modifyVolumeStatus']>;

export function modifyStatusOf({ status }: Claim): ModifyStatus | undefined {
  return status?.modifyVolumeStatus;
}

/** A modification is recorded, or there is something to modify once the claim is Bound. */
export function needsModification(claim: Claim): boolean {
  return modifyStatusOf(claim) !== undefined || wantedClassOf(claim) !== currentClassOf(claim);
}
