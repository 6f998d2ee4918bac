// SPDX-License-Identifier: Apache-2.0
/** Which group a VolumeSnapshot belongs to. */
import type { KubeObject } from '@csi-sidecars/runtime';
import { volumeGroupSnapshots, type VolumeSnapshot } from '@csi-sidecars/volume';

export interface GroupOwner {
  readonly name: string;
  readonly uid: string;
}

/**
 * The group that owns the snapshot. Of the owner's type only the API group and the kind count, not the version: members that an older
 * release made name another one.
 */
export function groupOwnerOf({ metadata }: KubeObject): GroupOwner | undefined {
  const { group, kind } = volumeGroupSnapshots;
  const owner = metadata?.ownerReferences?.find(
    (reference) => reference.kind === kind && reference.apiVersion?.split('/')[0] === group,
  );
  return owner === undefined ? undefined : { name: owner.name, uid: owner.uid };
}

/** Empty: it belongs to no group. The status of a member that was just made does not name its group yet. */
export function groupNameOf(snapshot: VolumeSnapshot): string {
  return groupOwnerOf(snapshot)?.name || (snapshot.status?.volumeGroupSnapshotName ?? '');
}
