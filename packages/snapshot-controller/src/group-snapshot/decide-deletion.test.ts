// SPDX-License-Identifier: Apache-2.0
/** Rows X1 to X10 with what their actions carry, and neighbours that differ in one condition. */
import { snapshotAnnotations, snapshotFinalizers } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aGroup, aGroupContent, aSnapshot } from '../../testing/builders.ts';
import {
  aGroupState,
  groupContentName,
  preparedGroup,
  readyGroup,
  staticGroupContent,
} from '../../testing/group-states.ts';
import { showAction } from '../../testing/show-action.ts';
import { deleting, failed } from '../../testing/snapshot-states.ts';
import { decideDeletion } from './decide-deletion.ts';
import type { GroupState } from './state.ts';

interface Line {
  readonly given: string;
  readonly s: Partial<GroupState>;
  readonly then: string;
}

const leaving = aGroup({ metadata: { ...preparedGroup, ...deleting }, status: readyGroup });

function check({ s, then }: Line): void {
  const { group = leaving } = s;
  expect(showAction(decideDeletion(aGroupState({ ...s, group }), group))).toBe(then);
}

describe('a group that is being deleted', () => {
  const marked = { annotations: { [snapshotAnnotations.groupBeingDeleted]: 'yes' } };
  const going = aGroupContent({ metadata: { ...marked, ...deleting } });
  const staying = aGroupContent({ metadata: marked, spec: { deletionPolicy: 'Retain' } });
  const ofAnother = aGroupContent({ of: aGroup({ uid: 'x' }), name: groupContentName });
  const source = { volumeGroupSnapshotContentName: 'content' };
  const leavingStatic = { ...leaving, spec: { source } };
  const unboundContent = {
    ...staticGroupContent,
    spec: { ...staticGroupContent.spec, volumeGroupSnapshotRef: { name: 'group', namespace: 'team' } },
  };
  const inRestore = aSnapshot({ name: 'in-restore', metadata: { finalizers: [snapshotFinalizers.restored] } });
  const members = [
    aSnapshot({ name: 'first' }),
    aSnapshot({ name: 'second', deleting: 'yes' }),
    aSnapshot({ name: 'third' }),
  ];
  const restored = 'Snapshot team/a belonging to VolumeGroupSnapshot team/group is being used to restore a PVC';

  it.each<Line>([
    { given: 'a run that begins', s: { isBegun: false }, then: "X1 begin DeleteGroupSnapshot, driver ''" },
    {
      given: 'a run that begins, and a content',
      s: { isBegun: false, content: going },
      then: "X1 begin DeleteGroupSnapshot, driver 'd.example.com'",
    },
    {
      given: 'no content in the cache',
      s: { contentAsked: 'unasked' },
      then: `X3 askContent ${groupContentName}`,
    },
    {
      given: 'a content that is bound',
      s: { content: going, contentAsked: 'unasked' },
      then: 'X9 done',
    },
    {
      given: 'a content of another group',
      s: { content: ofAnother, contentAsked: 'unasked' },
      then: 'X8 removeFinalizer',
    },
    {
      given: 'a static content that is shown as not bound',
      s: { group: leavingStatic, content: unboundContent, contentAsked: 'unasked' },
      then: `X3 askContent ${groupContentName}`,
    },
    {
      given: 'a static content that is not bound, which was asked',
      s: { group: leavingStatic, content: unboundContent },
      then: 'X8 removeFinalizer',
    },
    {
      given: 'an empty content name',
      s: {
        group: aGroup({
          metadata: { ...preparedGroup, ...deleting },
          spec: { source: { volumeGroupSnapshotContentName: '' } },
        }),
        contentAsked: 'unasked',
      },
      then: 'X8 removeFinalizer',
    },
    { given: 'a question that failed', s: { contentAsked: failed }, then: 'X3 retry: no' },
    {
      given: 'members of which two are restored',
      s: { beingRestored: ['team/a' as never, 'team/b' as never], content: going },
      then: `X4 retry: ${restored}; Warning SnapshotDeletePending: ${restored}`,
    },
    {
      given: 'a member with the finalizer of csi-provisioner, and claims that were not listed',
      s: { owned: [...members, inRestore], content: aGroupContent() },
      then: 'X10 listRestores',
    },
    {
      given: 'a member with the finalizer of csi-provisioner, no content, and claims that were not listed',
      s: { owned: [inRestore] },
      then: 'X10 listRestores',
    },
    {
      given: 'a member with the finalizer of csi-provisioner, and claims that could not be listed',
      s: { owned: [inRestore], content: aGroupContent(), restoresListed: failed },
      then: 'X10 retry: no',
    },
    {
      given: 'a member with the finalizer of csi-provisioner, and no restore in the list',
      s: { owned: [inRestore], content: aGroupContent(), restoresListed: 'done' },
      then: 'X5 markContent',
    },
    {
      given: 'a member with the finalizer of csi-provisioner, and a content that is marked and stays',
      s: { owned: [inRestore], content: staying },
      then: 'X7 deleteMembers in-restore',
    },
    { given: 'a content that is not marked', s: { content: aGroupContent() }, then: 'X5 markContent' },
    {
      given: 'a content that was marked in this run',
      s: { content: aGroupContent(), contentMarked: 'done' },
      then: 'X6 deleteContent',
    },
    {
      given: 'a content that cannot be marked',
      s: { content: aGroupContent(), contentMarked: failed },
      then: 'X5 retry: no',
    },
    {
      given: 'a content that was deleted in this run',
      s: { content: aGroupContent({ metadata: marked }), contentDeleted: 'done' },
      then: 'X9 done',
    },
    {
      given: 'a content that cannot be deleted',
      s: { content: aGroupContent({ metadata: marked }), contentDeleted: failed },
      then: 'X6 retry: no; Warning GroupSnapshotContentObjectDeleteError: Failed to delete group snapshot content API object',
    },
    { given: 'a content that stays', s: { content: staying }, then: 'X8 removeFinalizer' },
    {
      given: 'members of which one is being deleted',
      s: { content: going, owned: members },
      then: 'X7 deleteMembers first third',
    },
    {
      given: 'members that are all being deleted',
      s: { content: going, owned: [members[1]!] },
      then: 'X9 done',
    },
    {
      given: 'members that were deleted in this run',
      s: { content: going, owned: members, membersDeleted: 'done' },
      then: 'X9 done',
    },
    {
      given: 'members that cannot be deleted',
      s: { content: going, owned: members, membersDeleted: failed },
      then: 'X7 retry: no',
    },
    { given: 'a finalizer that was removed in this run', s: { finalizersRemoved: 'done' }, then: 'X9 done' },
    { given: 'a finalizer that cannot be removed', s: { finalizersRemoved: failed }, then: 'X8 retry: no' },
  ])('given $given, when decided, then $then', check);
});
