// SPDX-License-Identifier: Apache-2.0
/** Parts of groups on their way, and the content that an administrator makes. */
import { snapshotFinalizers, type VolumeGroupSnapshot, type VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { aGroupContent } from './builders.ts';

/** The finalizer that a group has once it is prepared. */
export const preparedGroup: { readonly finalizers: readonly string[] } = {
  finalizers: [snapshotFinalizers.groupBound],
};

/** The name and the status of the content that the controller makes for `aGroup()`. */
export const groupContentName: string = 'groupsnapcontent-uid-of-group';
type GroupStatus = NonNullable<VolumeGroupSnapshot['status']>;
export const boundGroup: GroupStatus = { boundVolumeGroupSnapshotContentName: groupContentName, readyToUse: false };
export const readyGroup: GroupStatus = { ...boundGroup, readyToUse: true };

/** As an administrator makes it, under the name `content`, and bound to `aGroup()`. */
export const staticGroupContent: VolumeGroupSnapshotContent = aGroupContent({
  name: 'content',
  spec: { source: { groupSnapshotHandles: { volumeGroupSnapshotHandle: 'g', volumeSnapshotHandles: [] } } },
});
