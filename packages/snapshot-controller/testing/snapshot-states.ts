// SPDX-License-Identifier: Apache-2.0
/** States of the snapshot loop for tables: a dynamic snapshot that has everything but its content. */
import { snapshotFinalizers, type VolumeSnapshot } from '@csi-sidecars/volume';
import { nothingLearned, type SnapshotState } from '../src/snapshot/state.ts';
import { aClass, aProtectedClaim, aSnapshot, aVolume } from './builders.ts';

/** The finalizers that a snapshot has once it is prepared. */
export const prepared: { readonly finalizers: readonly string[] } = {
  finalizers: [snapshotFinalizers.asSource, snapshotFinalizers.bound],
};

export const failed: { readonly failure: Error } = { failure: new Error('no') };
export const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

/** The name and the status of the content that the controller makes for `aSnapshot()`. */
export const contentName: string = 'snapcontent-uid-of-snap';
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

export function aSnapshotState(facts: Partial<SnapshotState> = {}): SnapshotState {
  return {
    snapshot: aSnapshot({ metadata: prepared }),
    classes: [aClass()],
    claim: aProtectedClaim(),
    isClaimBeingReleased: false,
    isClaimInUse: false,
    volume: aVolume(),
    node: '',
    content: undefined,
    contentGroup: undefined,
    isBeingRestored: false,
    group: 'none',
    ...nothingLearned,
    // It has no content that the cache lacks.
    contentAsked: { value: undefined },
    confirmed: 'done',
    hasLeftClaim: true,
    isBegun: true,
    ...facts,
  };
}
