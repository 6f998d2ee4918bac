// SPDX-License-Identifier: Apache-2.0
/** Deletion of groups and of their members. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { there } from '@csi-sidecars/test-driver/testing';
import {
  memberNamesOf,
  snapshotAnnotations,
  snapshotFinalizers as finalizers,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import { aClaim, aContent, aGroup, aGroupContent, aSnapshot } from '../../testing/builders.ts';
import { aController, claimsComeLate, type Fixture, forbidden } from '../../testing/controller-fixture.ts';
import { owner } from '../../testing/snapshot-states.ts';

const name = 'groupsnapcontent-uid-of-group';
const ref = { namespace: 'team', name: 'group' };
const bound = { boundVolumeGroupSnapshotContentName: name, readyToUse: true };
const metadata = { finalizers: [finalizers.groupBound] };
const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const marked = { [snapshotAnnotations.groupBeingDeleted]: 'yes' };
const cut = {
  volumeGroupSnapshotHandle: 'g1',
  readyToUse: true,
  volumeSnapshotInfoList: [{ volumeHandle: 'handle-1', snapshotHandle: 's1', readyToUse: true }],
};
const names = memberNamesOf('uid-of-group', 'handle-1');
const group = aGroup({ metadata, status: bound });
const member: VolumeSnapshot = {
  ...aSnapshot({
    name: names.snapshot,
    metadata: { finalizers: [finalizers.inGroup, finalizers.asSource], ownerReferences: [owner] },
    status: { boundVolumeSnapshotContentName: names.content, readyToUse: true, volumeGroupSnapshotName: 'group' },
  }),
  spec: { source: { persistentVolumeClaimName: '' } },
};
const memberContent = aContent({
  of: member,
  name: names.content,
  metadata: { annotations: { [snapshotAnnotations.groupHandle]: 'g1' } },
  status: { snapshotHandle: 's1', volumeGroupSnapshotHandle: 'g1', readyToUse: true },
});
const whole = [group, aGroupContent({ status: cut }), member, memberContent];
const remove = (it: Fixture): Promise<void> => it.remove(volumeGroupSnapshots, ref);
const memberOf = (it: Fixture) => it.get(volumeSnapshots, { namespace: 'team', name: names.snapshot });
const groupEvents = (it: Fixture): readonly string[] => it.events.filter((line) => line.includes(' team/group: '));

describe('the group', () => {
  it('[snapshot-controller#163, 164] given the policy Delete, then mark, content, members, and the group goes after its content', async () => {
    const it = await aController({ with: whole });
    await remove(it);
    expect(it.writes().slice(0, 3)).toEqual([
      `patch volumegroupsnapshotcontents ${name} 200`,
      `delete volumegroupsnapshotcontents ${name} 200`,
      `delete volumesnapshots team/${names.snapshot} 200`,
    ]);
    expect(it.groupContent()?.metadata).toMatchObject({ annotations: marked, deletionTimestamp: expect.any(String) });
    expect(it.group()?.metadata?.finalizers).toEqual([finalizers.groupBound]);
    // The member waits for its group.
    expect(memberOf(it)?.metadata?.finalizers).toContain(finalizers.inGroup);
    await it.letGroupGo();
    expect(it.group()).toBeUndefined();
    await it.letGo(names.content);
    expect(memberOf(it)).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#163] given a content of a group that is being deleted and loses its being-deleted annotation to a stale write, when nothing is ever offered again, then it is marked again at once', async () => {
    const it = await aController({ with: [group, aGroupContent()], settings: { resyncMs: 0 } });
    await remove(it);
    const before = it.writes().length;
    await it.change(volumeGroupSnapshotContents, { name }, (content) => ({
      ...content,
      metadata: { ...content.metadata, annotations: { other: 'kept' } },
    }));
    expect(it.writes().slice(before)).toEqual([`patch volumegroupsnapshotcontents ${name} 200`]);
    expect(it.groupContent()?.metadata?.annotations).toEqual({ ...marked, other: 'kept' });
    await it.stop();
  });

  it.each([
    { given: 'not marked yet', annotations: {}, first: 'patch', then: ['patch 409', 'patch 200'] },
    { given: 'marked', annotations: marked, first: 'delete', then: ['delete 409'] },
  ])(
    '[snapshot-controller#162] given a content that is $given, and whose policy became Retain a moment before, when the cache is behind, then it stays',
    async ({ annotations, first, then }) => {
      const content = aGroupContent({
        metadata: { finalizers: [finalizers.groupContent], annotations },
        status: cut,
      });
      const it = await aController({ with: [group, content, member, memberContent] });
      it.overtake(`${first} volumegroupsnapshotcontents`, volumeGroupSnapshotContents, {
        ref: { name },
        change: (known) => ({ ...known, spec: { ...known.spec, deletionPolicy: 'Retain' as const } }),
      });
      await remove(it);
      await it.clock.advance(1_000);
      expect(it.groupContent()?.metadata?.annotations).toEqual(marked);
      expect(there(it.groupContent()).metadata?.deletionTimestamp).toBeUndefined();
      expect(
        it
          .writes()
          .flatMap((line) => (line.includes('volumegroupsnapshotcontents') ? [line.replace(/ .* /, ' ')] : [])),
      ).toEqual(then);
      expect(it.group()).toBeUndefined();
      await it.stop();
    },
  );

  it.each([
    { given: 'not marked yet', annotations: {}, first: 'patch' },
    { given: 'marked', annotations: marked, first: 'delete' },
  ])(
    'given a content that is $given, and that another group got a moment before, when the cache is behind, then it is neither marked nor deleted',
    async ({ annotations, first }) => {
      const metadata = { finalizers: [finalizers.groupContent], annotations };
      const it = await aController({ with: [group, aGroupContent({ metadata })] });
      const volumeGroupSnapshotRef = { namespace: 'team', name: 'other', uid: 'uid-of-other' };
      it.overtake(`${first} volumegroupsnapshotcontents`, volumeGroupSnapshotContents, {
        ref: { name },
        change: (known) => ({ ...known, spec: { ...known.spec, volumeGroupSnapshotRef } }),
      });
      await remove(it);
      await it.clock.advance(1_000);
      expect(it.groupContent()!.metadata?.annotations ?? {}).toEqual(annotations);
      expect(there(it.groupContent()).metadata?.deletionTimestamp).toBeUndefined();
      expect(it.group()).toBeUndefined();
      await it.stop();
    },
  );

  it('[snapshot-controller#168, X7] given a member that the group does not own any more, when the cache is behind, then it stays', async () => {
    const it = await aController({ with: whole });
    it.overtake('delete volumesnapshots', volumeSnapshots, {
      ref: { namespace: 'team', name: names.snapshot },
      change: (snapshot) => ({
        ...snapshot,
        metadata: { ...snapshot.metadata, ownerReferences: [] },
        status: { ...snapshot.status, volumeGroupSnapshotName: '' },
      }),
    });
    await remove(it);
    await it.clock.advance(1_000);
    expect(it.writes()).toContain(`delete volumesnapshots team/${names.snapshot} 409`);
    expect(there(memberOf(it)).metadata?.deletionTimestamp).toBeUndefined();
    expect(groupEvents(it)).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#X3, X9] given a static group that names a content as no object can be named, then it goes, and the API server is not asked', async () => {
    const source = { volumeGroupSnapshotContentName: 'a%b' };
    const it = await aController({ with: [aGroup({ metadata: { ...metadata, ...deleting }, spec: { source } })] });
    expect(it.reads()).toEqual([]);
    expect(it.group()).toBeUndefined();
    await it.stop();
  });

  it('[P9] given the end of the group, then its members go at once, and their contents are marked and deleted', async () => {
    const it = await aController({ with: whole });
    await remove(it);
    await it.letGroupGo();
    expect(it.content(names.content)?.metadata).toMatchObject({
      annotations: { [snapshotAnnotations.beingDeleted]: 'yes' },
      deletionTimestamp: expect.any(String),
    });
    await it.stop();
  });

  it('[snapshot-controller#162, X8] given the policy Retain, then the content is marked and stays', async () => {
    const it = await aController({
      with: [group, aGroupContent({ spec: { deletionPolicy: 'Retain' }, status: { readyToUse: true } })],
    });
    await remove(it);
    expect(it.group()).toBeUndefined();
    expect(it.groupContent()?.metadata?.annotations).toEqual(marked);
    expect(there(it.groupContent()).metadata?.deletionTimestamp).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#161, X1, X2] given no finalizer, then nothing is done', async () => {
    const it = await aController({
      with: [aGroup({ metadata: { ...deleting, finalizers: ['a.io/b'] } }), aGroupContent()],
    });
    expect([it.writes(), it.events]).toEqual([[], []]);
    await it.stop();
  });

  it('[snapshot-controller#X6] [P4] given a group that is deleted before its status names the content, then the content is found by its derived name', async () => {
    const it = await aController({ with: [aGroup({ metadata: { ...metadata, ...deleting } }), aGroupContent()] });
    expect(it.groupContent()?.metadata).toMatchObject({ annotations: marked, deletionTimestamp: expect.any(String) });
    await it.stop();
  });

  it('[snapshot-controller#X5] [P33] given a static group that is deleted before its status names the content, then the content is found by the name in the spec', async () => {
    const snapshot = aGroup({
      metadata: { ...metadata, ...deleting },
      spec: { source: { volumeGroupSnapshotContentName: 'content' } },
    });
    const it = await aController({ with: [snapshot, aGroupContent({ name: 'content' })] });
    expect(it.groupContent('content')?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('given a content of another group, then it is not touched', async () => {
    const foreign = aGroupContent({ of: aGroup({ uid: 'another' }), name });
    const it = await aController({
      with: [aGroup({ metadata: { ...metadata, ...deleting }, status: bound }), foreign],
    });
    expect(it.group()).toBeUndefined();
    expect(it.groupContent()).toMatchObject(foreign);
    await it.stop();
  });

  it('[P17] given a content that vanishes before its deletion, then that counts as done', async () => {
    const it = await aController({ with: whole });
    it.fault('delete volumegroupsnapshotcontents', { kind: 'status', point: 'before', code: 404, reason: 'NotFound' });
    await remove(it);
    expect(groupEvents(it)).toEqual([]);
    expect(it.reads()).toEqual([]);
    await it.stop();
  });

  it('given that the content cannot be deleted, then an event, and the finalizer stays', async () => {
    const it = await aController({ with: whole });
    it.fault('delete volumegroupsnapshotcontents', forbidden);
    await remove(it);
    expect(groupEvents(it)).toEqual([
      'Warning GroupSnapshotContentObjectDeleteError team/group: Failed to delete group snapshot content API object',
    ]);
    expect(there(memberOf(it)).metadata?.deletionTimestamp).toBeUndefined();
    await it.clock.advance(5_000);
    expect(it.groupContent()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it.each(['patch volumegroupsnapshotcontents', 'patch volumegroupsnapshots'])(
    'given that %s fails once, then the deletion goes on with the next attempt',
    async (what) => {
      const it = await aController({ with: whole });
      it.fault(what, forbidden);
      await remove(it);
      await it.clock.advance(5_000);
      await it.letGroupGo();
      await it.clock.advance(5_000);
      expect(it.group()).toBeUndefined();
      await it.stop();
    },
  );
});

describe('its members', () => {
  it('[snapshot-controller#165] given a member that a claim is filled from, then nothing is deleted until the claim is bound', async () => {
    const restored = aClaim({
      name: 'restored',
      phase: 'Pending',
      spec: { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: names.snapshot } },
    });
    const it = await aController({ with: [...whole, restored] });
    await remove(it);
    expect(it.writes()).toEqual([]);
    expect(groupEvents(it)).toEqual([
      `Warning SnapshotDeletePending team/group: Snapshot team/${names.snapshot} belonging to VolumeGroupSnapshot team/group is being used to restore a PVC`,
    ]);
    await it.change(persistentVolumeClaims, { namespace: 'team', name: 'restored' }, (claim) => ({
      ...claim,
      status: { phase: 'Bound' },
    }));
    expect(it.groupContent()?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#188, X4, X10] given a member that csi-provisioner protects and a cache that lacks the pending claim, then nothing is deleted', async () => {
    const { metadata } = member;
    const inRestore = { ...member, metadata: { ...metadata, finalizers: [finalizers.asSource, finalizers.restored] } };
    const it = await aController({
      with: [group, aGroupContent({ status: cut }), inRestore, memberContent],
      faults: [claimsComeLate],
    });
    await it.clock.advance(300_000);
    const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: names.snapshot };
    await it.add(aClaim({ name: 'restored', phase: 'Pending', spec: { dataSource: source } }));
    await remove(it);
    expect(it.writes()).toEqual([]);
    expect(groupEvents(it)).toEqual([
      `Warning SnapshotDeletePending team/group: Snapshot team/${names.snapshot} belonging to VolumeGroupSnapshot team/group is being used to restore a PVC`,
    ]);
    await it.stop();
  });

  it('[snapshot-controller#166] given a member that is gone already, then it is skipped', async () => {
    const it = await aController({ with: whole });
    it.fault('delete volumesnapshots', { kind: 'status', point: 'before', code: 404, reason: 'NotFound' });
    await remove(it);
    expect(groupEvents(it)).toEqual([]);
    await it.letGroupGo();
    expect(it.group()).toBeUndefined();
    expect(
      it.logger.lines.filter(({ message, facts }) => message.includes('will retry') && facts['key'] === 'team/group'),
    ).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#167] given a member that cannot be deleted, then an event, and the finalizer of the group stays', async () => {
    const it = await aController({ with: whole });
    it.fault('delete volumesnapshots', forbidden);
    await remove(it);
    expect(groupEvents(it)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^Warning SnapshotDeleteError team/group: failed to delete snapshot API object team/${names.snapshot} part of group snapshot team/group: .`,
        ),
      ),
    ]);
    expect(it.group()?.metadata?.finalizers).toEqual([finalizers.groupBound]);
    await it.clock.advance(5_000);
    expect(memberOf(it)?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[snapshot-controller#168] given a static group, then the snapshots that it owns go with it, and others stay', async () => {
    const strange = aSnapshot({
      name: 'strange',
      metadata: { finalizers: ['a.io/b'] },
      status: { volumeGroupSnapshotName: 'group' },
    });
    const it = await aController({ with: [...whole, strange] });
    await remove(it);
    expect(memberOf(it)?.metadata?.deletionTimestamp).toBeDefined();
    expect(there(it.snapshot('strange')).metadata?.deletionTimestamp).toBeUndefined();
    await it.stop();
  });

  it('given a snapshot of an older group of the same name, then it is not deleted with this one', async () => {
    const older = { ...member, metadata: { ...member.metadata, ownerReferences: [{ ...owner, uid: 'older' }] } };
    const it = await aController({ with: [...whole.slice(0, 2), older] });
    await remove(it);
    expect(it.writes().filter((line) => line.startsWith('delete volumesnapshots'))).toEqual([]);
    await it.stop();
  });

  it('[P23] given a member whose owner reference has an older version, then it is deleted with its group', async () => {
    const older = { ...owner, apiVersion: 'groupsnapshot.storage.k8s.io/v1beta2' };
    const it = await aController({
      with: [
        ...whole.slice(0, 2),
        { ...member, metadata: { ...member.metadata, ownerReferences: [older] } },
        memberContent,
      ],
    });
    await remove(it);
    expect(memberOf(it)?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });

  it('[P5] given a member that was never bound, when it is deleted after its group, then its content is found by its name', async () => {
    const unbound = { ...member, metadata: { ...member.metadata, ...deleting }, status: {} };
    const reference = { kind: 'VolumeSnapshot', name: names.snapshot, namespace: 'team' };
    const unboundContent: VolumeSnapshotContent = {
      ...memberContent,
      spec: { ...memberContent.spec, volumeSnapshotRef: reference },
    };
    const it = await aController({
      with: [unbound, unboundContent],
    });
    expect(it.get(volumeSnapshotContents, { name: names.content })?.metadata?.deletionTimestamp).toBeDefined();
    await it.stop();
  });
});
