// SPDX-License-Identifier: Apache-2.0
/** States of the group loop for tables: a dynamic group that has everything but its content. */
import { snapshotFinalizers, type VolumeGroupSnapshot, type VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { type GroupState, nothingLearned } from '../src/group-snapshot/state.ts';
import { aClaim, aGroup, aGroupClass, aGroupContent, aVolume } from './builders.ts';

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

export function aGroupState(facts: Partial<GroupState> = {}): GroupState {
  return {
    group: aGroup({ metadata: preparedGroup }),
    classes: [aGroupClass()],
    content: undefined,
    nodes: [],
    incomplete: [],
    owned: [],
    beingRestored: [],
    ...nothingLearned,
    // It has no content that the cache lacks.
    contentAsked: { value: undefined },
    confirmed: 'done',
    isBegun: true,
    sources: { value: [{ claim: aClaim(), volume: aVolume() }] },
    ...facts,
  };
}
