// SPDX-License-Identifier: Apache-2.0
/** What a VolumeGroupSnapshot says about itself. */
import { groupContentNameOf, type VolumeGroupSnapshot } from '@csi-sidecars/volume';

export function isReady({ status }: VolumeGroupSnapshot): boolean {
  return status?.readyToUse === true && (status.boundVolumeGroupSnapshotContentName ?? '') !== '';
}

/** An administrator made its content. */
export function isStatic({ spec }: VolumeGroupSnapshot): boolean {
  return spec?.source?.volumeGroupSnapshotContentName !== undefined;
}

/** Where the group has to find its content; empty: nowhere. */
export function expectedContentName(group: VolumeGroupSnapshot): string {
  return group.spec?.source?.volumeGroupSnapshotContentName ?? groupContentNameOf(group.metadata?.uid ?? '');
}

/** The content that counts: once bound, a ready group and one that is being deleted keep to the content that their status names. */
export function contentNameFor(group: VolumeGroupSnapshot): string {
  const bound = group.status?.boundVolumeGroupSnapshotContentName ?? '';
  const keeps = isReady(group) || group.metadata?.deletionTimestamp !== undefined;
  return bound !== '' && keeps ? bound : expectedContentName(group);
}
