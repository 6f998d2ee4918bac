// SPDX-License-Identifier: Apache-2.0
/** Parts of snapshots on their way: dynamic ones, and members of a group. */
import { snapshotFinalizers, type VolumeSnapshot } from '@csi-sidecars/volume';

/** The finalizers that a snapshot has once it is prepared. */
export const prepared: { readonly finalizers: readonly string[] } = {
  finalizers: [snapshotFinalizers.asSource, snapshotFinalizers.bound],
};

export const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

/** The name and the status of the content that the controller makes for `aSnapshot()`. */
const contentName = 'snapcontent-uid-of-snap';
type SnapshotStatus = NonNullable<VolumeSnapshot['status']>;
export const bound: SnapshotStatus = { boundVolumeSnapshotContentName: contentName, readyToUse: false };
export const ready: SnapshotStatus = { boundVolumeSnapshotContentName: contentName, readyToUse: true };

/** The group that owns a member. */
export const owner = {
  apiVersion: 'groupsnapshot.storage.k8s.io/v1',
  kind: 'VolumeGroupSnapshot',
  name: 'group',
  uid: 'uid-of-group',
};
