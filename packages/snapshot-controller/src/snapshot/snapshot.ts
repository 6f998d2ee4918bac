// SPDX-License-Identifier: Apache-2.0
/** What a VolumeSnapshot says about itself. */
import { type KubeObject, type ObjectKey, type PersistentVolumeClaim, toObjectKey } from '@csi-sidecars/runtime';
import { contentNameOf, snapshotFinalizers, type VolumeSnapshot } from '@csi-sidecars/volume';
import { groupOwnerOf } from '../membership.ts';

export function isDeleting({ metadata }: KubeObject): boolean {
  return metadata?.deletionTimestamp !== undefined;
}

/** Ready to use, and bound. */
export function isReady({ status }: VolumeSnapshot): boolean {
  return status?.readyToUse === true && (status.boundVolumeSnapshotContentName ?? '') !== '';
}

/** Undefined: no snapshot of a claim. */
export function sourceClaimKey({ metadata, spec }: VolumeSnapshot): ObjectKey | undefined {
  const name = spec?.source?.persistentVolumeClaimName;
  return name === undefined ? undefined : toObjectKey(metadata?.namespace, name);
}

/** It has our finalizer. */
export function isProtected(claim: PersistentVolumeClaim | undefined): boolean {
  return claim?.metadata?.finalizers?.includes(snapshotFinalizers.claim) === true;
}

/**
 * `static`: an administrator made its content. `member`: its group makes its content. `dynamic`: this loop makes its content.
 */
export type Origin = 'static' | 'member' | 'dynamic';

export function originOf(snapshot: VolumeSnapshot): Origin {
  if (snapshot.spec?.source?.volumeSnapshotContentName !== undefined) return 'static';
  // Who deletes a group and orphans its members takes the owner off them.
  const isMember =
    groupOwnerOf(snapshot) !== undefined ||
    snapshot.metadata?.finalizers?.includes(snapshotFinalizers.inGroup) === true;
  return isMember ? 'member' : 'dynamic';
}

/** Where the snapshot has to find its content by its origin; empty: nowhere. */
export function expectedContentName(snapshot: VolumeSnapshot): string {
  switch (originOf(snapshot)) {
    case 'static':
      return snapshot.spec?.source?.volumeSnapshotContentName ?? '';
    case 'member':
      return snapshot.status?.boundVolumeSnapshotContentName || (memberContentName(snapshot) ?? dynamicName(snapshot));
    case 'dynamic':
      return dynamicName(snapshot);
  }
}

function dynamicName({ metadata }: VolumeSnapshot): string {
  return contentNameOf(metadata?.uid ?? '');
}

/**
 * A member that its group made and its content have the same digest in their names. Undefined: its group did not make it. Somebody gave the
 * finalizer or the owner of a member to a snapshot, which may have a content of its own already.
 */
function memberContentName({ metadata }: VolumeSnapshot): string | undefined {
  const [, digest] = /^snapshot-([0-9a-f]{64})$/.exec(metadata?.name ?? '') ?? [];
  return digest && `snapcontent-${digest}`;
}

/** The content that counts: once bound, a ready snapshot and one that is being deleted keep to the content that their status names. */
export function contentNameFor(snapshot: VolumeSnapshot): string {
  const bound = snapshot.status?.boundVolumeSnapshotContentName ?? '';
  return bound !== '' && (isReady(snapshot) || isDeleting(snapshot)) ? bound : expectedContentName(snapshot);
}
