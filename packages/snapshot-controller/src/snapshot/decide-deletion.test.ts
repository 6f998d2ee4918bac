// SPDX-License-Identifier: Apache-2.0
/** Rows D1 to D11 with what their actions carry, and neighbours that differ in one condition. */
import { snapshotAnnotations, snapshotFinalizers as finalizers } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aContent, aGroup, aSnapshot, aStaticContent, aStaticSnapshot } from '../../testing/builders.ts';
import { showAction } from '../../testing/show-action.ts';
import {
  aSnapshotState,
  contentName,
  deleting,
  failed,
  owner,
  prepared,
  ready,
} from '../../testing/snapshot-states.ts';
import { decideDeletion } from './decide-deletion.ts';
import type { SnapshotState } from './state.ts';

interface Line {
  readonly given: string;
  readonly s: Partial<SnapshotState> & Pick<SnapshotState, 'snapshot'>;
  readonly then: string;
}

function check({ s, then }: Line): void {
  expect(showAction(decideDeletion(aSnapshotState(s), s.snapshot!))).toBe(then);
}

describe('a snapshot that is being deleted', () => {
  const leaving = aSnapshot({ metadata: { ...prepared, ...deleting }, status: ready });
  const marked = { annotations: { [snapshotAnnotations.beingDeleted]: 'yes' } };
  const ofAnother = aContent({ of: aSnapshot({ uid: 'x' }), name: contentName });
  const going = aContent({ metadata: { ...marked, ...deleting } });
  const retained = aContent({ metadata: marked, spec: { deletionPolicy: 'Retain' } });
  const leavingStatic = aStaticSnapshot({ metadata: { ...prepared, ...deleting } });
  const boundStatic = aStaticContent({
    spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
  });
  const onlyBound = { metadata: { finalizers: [finalizers.bound], ...deleting } };
  const withoutUid = { name: 'snap', namespace: 'team' };
  const leavingMember = aSnapshot({ metadata: { ...prepared, ...deleting, ownerReferences: [owner] }, status: ready });
  const kept =
    'deletion of the individual volume snapshot team/snap is not allowed as it belongs to group snapshot team/group. Deleting the group snapshot will trigger the deletion of all the individual volume snapshots that are part of the group.';
  const keptInGroup = `D5 retry: ${kept}; Warning SnapshotDeletePending: ${kept}`;
  const pending = 'Snapshot is being used to restore a PVC';
  const at = { snapshot: leaving, claim: undefined };
  const inRestore = aSnapshot({
    metadata: { ...deleting, finalizers: [...prepared.finalizers, finalizers.restored] },
    status: ready,
  });

  it.each<Line>([
    { given: 'no content in the cache', s: { ...at, contentAsked: 'unasked' }, then: `D3 askContent ${contentName}` },
    { given: 'a question that failed', s: { ...at, contentAsked: failed }, then: 'D3 retry: no' },
    {
      given: 'a static content that is bound, and nothing asked',
      s: { ...at, snapshot: leavingStatic, content: boundStatic, contentAsked: 'unasked' },
      then: 'D6 markContent',
    },
    {
      given: 'a static content of another snapshot, and nothing asked',
      s: { ...at, snapshot: leavingStatic, content: ofAnother, contentAsked: 'unasked' },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a dynamic content that refers to its name without a UID, and nothing asked',
      s: { ...at, content: aContent({ spec: { volumeSnapshotRef: withoutUid } }), contentAsked: 'unasked' },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a member that is free, and the content of another snapshot',
      s: { ...at, snapshot: leavingMember, group: 'gone', content: ofAnother },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a group that its status names and that is gone',
      s: { ...at, snapshot: { ...leaving, status: { ...ready, volumeGroupSnapshotName: 'group' } }, group: 'gone' },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'no status and only the finalizer that waits for the content',
      s: { ...at, snapshot: aSnapshot(onlyBound), contentAsked: 'unasked' },
      then: `D3 askContent ${contentName}`,
    },
    {
      given: 'a static source, no status and only the finalizer that waits for the content',
      s: { ...at, snapshot: aStaticSnapshot(onlyBound), contentAsked: 'unasked' },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a static content that is shown as not bound, after the first run',
      s: { ...at, snapshot: aStaticSnapshot(onlyBound), content: aStaticContent(), contentAsked: 'unasked' },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'no content name at all',
      s: {
        ...at,
        snapshot: aStaticSnapshot({
          metadata: { ...prepared, ...deleting },
          spec: { source: { volumeSnapshotContentName: '' } },
        }),
        contentAsked: 'unasked',
      },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a member that its group did not make, and that may have a content of its own',
      s: {
        ...at,
        snapshot: aSnapshot({ metadata: { ...prepared, ...deleting, ownerReferences: [owner] } }),
        contentAsked: 'unasked',
      },
      then: `D3 askContent ${contentName}`,
    },
    {
      given: 'a restore',
      s: { ...at, content: going, isBeingRestored: true },
      then: `D4 retry: ${pending}; Warning SnapshotDeletePending: ${pending}`,
    },
    {
      given: 'a restore and no content',
      s: { ...at, isBeingRestored: true },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a restore and the content of another snapshot',
      s: { ...at, content: ofAnother, isBeingRestored: true },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'the finalizer of csi-provisioner, and claims that were not listed',
      s: { ...at, snapshot: inRestore, content: aContent() },
      then: 'D11 listRestores',
    },
    {
      given: 'the finalizer of csi-provisioner, and claims that could not be listed',
      s: { ...at, snapshot: inRestore, content: aContent(), restoresListed: failed },
      then: 'D11 retry: no',
    },
    {
      given: 'the finalizer of csi-provisioner, and no restore in the list',
      s: { ...at, snapshot: inRestore, content: aContent(), restoresListed: 'done' },
      then: 'D6 markContent',
    },
    {
      given: 'the finalizer of csi-provisioner, and a restore in the cache',
      s: { ...at, snapshot: inRestore, content: aContent(), isBeingRestored: true },
      then: `D4 retry: ${pending}; Warning SnapshotDeletePending: ${pending}`,
    },
    {
      given: 'the finalizer of csi-provisioner, and a content that is marked',
      s: { ...at, snapshot: inRestore, content: going },
      then: 'D9 removeFinalizers asSource inGroup',
    },
    {
      given: 'the finalizer of csi-provisioner, and the content of another snapshot',
      s: { ...at, snapshot: inRestore, content: ofAnother },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a content that refers to its name without a UID',
      s: { ...at, content: aContent({ spec: { volumeSnapshotRef: withoutUid } }) },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a member whose content refers to its name without a UID',
      s: {
        ...at,
        snapshot: leavingMember,
        group: 'gone',
        content: aContent({ spec: { volumeSnapshotRef: withoutUid } }),
      },
      then: 'D6 markContent',
    },
    { given: 'a group that owns it', s: { ...at, snapshot: leavingMember, group: aGroup() }, then: keptInGroup },
    {
      given: 'a group that its status names',
      s: {
        ...at,
        snapshot: { ...leaving, status: { ...ready, volumeGroupSnapshotName: 'group' } },
        group: aGroup(),
      },
      then: keptInGroup,
    },
    {
      given: 'a group that its status names, after its finalizers were removed',
      s: {
        ...at,
        snapshot: {
          ...leaving,
          metadata: { ...leaving.metadata, finalizers: [finalizers.bound] },
          status: { ...ready, volumeGroupSnapshotName: 'group' },
        },
        group: aGroup(),
      },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'another group of the same name',
      s: { ...at, snapshot: leavingMember, group: aGroup({ uid: 'x' }), content: going },
      then: 'D9 removeFinalizers asSource inGroup',
    },
    {
      given: 'a group, while groups are not watched',
      s: { ...at, snapshot: leavingMember, group: 'unknown' },
      then: 'D5 askGroup team/group',
    },
    {
      given: 'a group that was asked for and is gone',
      s: { ...at, snapshot: leavingMember, group: 'unknown', groupAsked: { value: false } },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a group that was asked for and is there',
      s: { ...at, snapshot: leavingMember, group: 'unknown', groupAsked: { value: true } },
      then: keptInGroup,
    },
    {
      given: 'a group that could not be asked for',
      s: { ...at, snapshot: leavingMember, group: 'unknown', groupAsked: failed },
      then: 'D5 retry: no; Warning SnapshotDeletePending: failed to look for group snapshot team/group: no',
    },
    {
      given: 'a content that was marked in this run',
      s: { ...at, content: aContent(), contentMarked: 'done' },
      then: 'D7 deleteContent',
    },
    {
      given: 'a content that was deleted in this run',
      s: { ...at, content: aContent({ metadata: marked }), contentDeleted: 'done' },
      then: 'D9 removeFinalizers asSource inGroup',
    },
    {
      given: 'a content that cannot be deleted',
      s: { ...at, content: aContent({ metadata: marked }), contentDeleted: failed },
      then: 'D7 retry: no; Warning SnapshotContentObjectDeleteError: Failed to delete snapshot content API object',
    },
    {
      given: 'a content that stays',
      s: { ...at, content: retained },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a claim without our finalizer that the snapshot has not left',
      s: { ...at, content: going, claim: aClaim(), hasLeftClaim: false },
      then: 'D8 leaveClaim',
    },
    {
      given: 'a claim that is gone and that the snapshot has not left',
      s: { ...at, content: going, hasLeftClaim: false },
      then: 'D8 leaveClaim',
    },
    {
      given: 'a static snapshot, which has no claim',
      s: { ...at, snapshot: leavingStatic, content: ofAnother, hasLeftClaim: false },
      then: 'D9 removeFinalizers asSource inGroup bound',
    },
    {
      given: 'a claim that other snapshots keep',
      s: { snapshot: leaving, content: going, isClaimInUse: true },
      then: 'D9 removeFinalizers asSource inGroup',
    },
    {
      given: 'a claim without our finalizer',
      s: { ...at, content: going, claim: aClaim() },
      then: 'D9 removeFinalizers asSource inGroup',
    },
    {
      given: 'a claim that is released',
      s: { snapshot: leaving, content: going, claimReleased: 'done' },
      then: 'D9 removeFinalizers asSource inGroup',
    },
    {
      given: 'a claim that cannot be released',
      s: { snapshot: leaving, content: going, claimReleased: failed },
      then: 'D8 retry: no; Warning ErrorPVCFinalizer: Error check and remove PVC Finalizer for VolumeSnapshot',
    },
    { given: 'finalizers that are removed', s: { ...at, content: going, finalizersRemoved: 'done' }, then: 'D10 done' },
    {
      given: 'finalizers that cannot be removed',
      s: { ...at, content: going, finalizersRemoved: failed },
      then: 'D9 retry: no',
    },
    {
      given: 'the finalizer of groups alone',
      s: {
        ...at,
        snapshot: aSnapshot({ metadata: { finalizers: [finalizers.inGroup], ...deleting } }),
        content: going,
      },
      then: 'D9 removeFinalizers asSource inGroup',
    },
  ])('given $given, when decided, then $then', check);
});
