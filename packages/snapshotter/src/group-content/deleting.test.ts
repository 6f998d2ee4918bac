// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import {
  aGroupClass,
  aGroupContent,
  groupIntent,
  asked,
  aSecret,
  groupBeingCreated,
  groupDeletionSecret,
} from '../../testing/builders.ts';
import { aSnapshotter, type Fixture, type FixtureOptions, forbidden } from '../../testing/snapshotter-fixture.ts';

const remove = 'DeleteVolumeGroupSnapshot';
const object = 'patch volumegroupsnapshotcontents';
const status = `${object}/status`;
const members = [
  { volumeHandle: 'volume-1', snapshotHandle: 'snapshot-5', creationTime: 1_767_225_600_000_000_001n },
  { volumeHandle: 'volume-2', snapshotHandle: 'snapshot-6', restoreSize: 9_007_199_254_740_993n },
];
const full = { volumeGroupSnapshotHandle: 'group-4', readyToUse: true, volumeSnapshotInfoList: members };
const handles = { volumeGroupSnapshotHandle: 'group-4', volumeSnapshotHandles: ['snapshot-5', 'snapshot-6'] };

interface Options extends FixtureOptions {
  readonly group?: Parameters<typeof aGroupContent>[0];
  readonly prepare?: (s: Fixture) => void;
}

/** The driver has `group-4`; then its content appears, as one that is to be deleted. */
async function deleting({ group, prepare, seed = [], ...options }: Options = {}): Promise<Fixture> {
  const s = await aSnapshotter({ ...options, seed });
  const request = { name: 'taken before', source_volume_ids: ['volume-1', 'volume-2'] };
  const channel = s.driver.channel();
  await channel.call('/csi.v1.GroupController/CreateVolumeGroupSnapshot', request, { timeoutMs: 1_000 });
  s.driver.forgetCalls();
  prepare?.(s);
  s.server.seed(aGroupContent({ status: full, deleting: 'asked', ...group }));
  await s.settle();
  return s;
}

const expectDeleted = (s: Fixture): void => {
  expect(s.requests(remove)).toMatchObject([
    { group_snapshot_id: 'group-4', snapshot_ids: ['snapshot-5', 'snapshot-6'] },
  ]);
  expect([s.group(), s.driver.groups(), s.driver.snapshots(), s.events]).toEqual([undefined, [], [], []]);
};

describe('a group that is to be deleted', () => {
  it('[csi-snapshotter#95] given a class of another driver under the name of its class, then it is deleted as without any class', async () => {
    const s = await deleting({ seed: [aGroupClass({ driver: 'other' })] });
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#103, G6] given policy Delete, then one call with all members and two writes; the list stays, bit for bit', async () => {
    const finalizers = [...(aGroupContent().metadata?.finalizers ?? []), 'a/b'];
    const filled = { ...full, creationTime: '2026-01-01T00:00:00Z', error: { message: 'former' } };
    const s = await deleting({ group: { finalizers, status: filled } });
    expect(s.requests(remove)).toEqual([
      { group_snapshot_id: 'group-4', snapshot_ids: ['snapshot-5', 'snapshot-6'], secrets: {} },
    ]);
    expect(s.driver.snapshots()).toEqual([]);
    expect(s.writes()).toEqual([`${status} group 200`, `${object} group 200`]);
    expect(s.group()?.status).toEqual({ volumeSnapshotInfoList: members });
    expect(s.driver.groups()).toEqual([]);
    expect(s.server.requests.filter(({ verb }) => verb === 'get')).toEqual([]);
    await s.stop();
  });

  it('[csi-snapshotter#102, G7] given policy Retain, then the finalizer goes, and nothing else happens', async () => {
    const s = await deleting({ group: { policy: 'Retain' } });
    expect([s.group(), s.calls(), s.writes()]).toEqual([undefined, [], [`${object} group 200`]]);
    await s.stop();
  });

  it('[csi-snapshotter#104] given a pre-provisioned group, then the members of the content are sent', async () => {
    const s = await deleting({
      group: { handles, status: { volumeGroupSnapshotHandle: 'group-4', readyToUse: true } },
    });
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#107] given an unbound pre-provisioned group without the annotation, then it is deleted', async () => {
    const s = await deleting({ group: { handles, refUid: '', deleting: 'direct' } });
    expectDeleted(s);
    await s.stop();
  });

  it.each([
    { given: 'dynamic', source: {} },
    { given: 'pre-provisioned', source: { handles } },
  ])(
    '[csi-snapshotter#107] given a $given group that is bound, and a deletion timestamp only, then it stays, and goes when the annotation comes',
    async ({ source }) => {
      const s = await deleting({ group: { ...source, deleting: 'direct' } });
      await s.clock.advance(1_000_000);
      expect([s.writes(), s.calls(), s.driver.groups().length]).toEqual([[], [], 1]);
      s.changeGroup(asked);
      await s.settle();
      expectDeleted(s);
      await s.stop();
    },
  );

  it('given a list in which a member has no handle, then the others are sent', async () => {
    const odd = { ...full, volumeSnapshotInfoList: [...members, { volumeHandle: 'volume-3' }] };
    const s = await deleting({ group: { status: odd } });
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#105] given the driver refuses, then an event with the cause, and nothing is written [P14]', async () => {
    const s = await deleting({ prepare: (it) => it.failCalls('Internal', { method: remove }) });
    expect(s.events).toEqual([
      'Warning GroupSnapshotDeleteError group: Failed to delete group snapshot: rpc error: code = Internal desc = no',
    ]);
    expect([s.writes(), s.group()?.status]).toEqual([[], full]);
    await s.clock.advance(1_200);
    expect(s.group()).toBeUndefined();
    await s.stop();
  });

  it('[csi-snapshotter#106] given the finalizer cannot be removed, then that is retried without a second call', async () => {
    const s = await deleting({ prepare: (it) => it.fault(object, forbidden) });
    expect(s.group()?.status).toEqual({ volumeSnapshotInfoList: members });
    await s.clock.advance(1_200);
    expectDeleted(s);
    await s.stop();
  });

  it('[csi-snapshotter#100] given the intent, and a driver that answers another group than the status has, then that group is deleted', async () => {
    const info = { volumeHandle: 'volume-1', snapshotHandle: 'gone' };
    const status = { volumeGroupSnapshotHandle: 'gone', readyToUse: false, volumeSnapshotInfoList: [info] };
    const s = await aSnapshotter({
      seed: [aGroupClass(), aGroupContent({ ...groupIntent, status, deleting: 'asked' })],
    });
    expect([s.group(), s.driver.snapshots()]).toEqual([undefined, []]);
    await s.stop();
  });

  it('[csi-snapshotter#108] given an open call, then the creation goes on before anything is deleted', async () => {
    const s = await aSnapshotter({
      seed: [aGroupClass(), aGroupContent({ annotations: groupBeingCreated, deleting: 'asked' })],
    });
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual(['CreateVolumeGroupSnapshot', remove]);
    expect([s.group(), s.driver.groups()]).toEqual([undefined, []]);
    await s.stop();
  });

  it('[csi-snapshotter#90, G5] [P12] given a group without members, then an event with each retry, and the backoff holds', async () => {
    const s = await deleting({ group: { status: { volumeGroupSnapshotHandle: 'group-4', readyToUse: true } } });
    await s.clock.advance(35_000);
    expect([s.calls(), s.writes()]).toEqual([[], []]);
    expect(s.events).toEqual(
      Array.from(
        { length: 6 },
        () =>
          'Warning GroupSnapshotDeleteError group: Failed to delete group snapshot: cannot delete group snapshot content group. No snapshots found in the group snapshot',
      ),
    );
    await s.stop();
  });

  it('[csi-snapshotter#G4] given annotations that name a missing secret, then an event and no call; with the secret it is sent', async () => {
    const s = await deleting({ group: { annotations: groupDeletionSecret } });
    expect([s.calls(), s.events]).toEqual([
      [],
      ['Warning GroupSnapshotDeleteError group: Failed to get snapshot credentials'],
    ]);
    s.server.seed(aSecret());
    await s.clock.advance(1_200);
    expect(s.requests(remove)).toMatchObject([{ secrets: { user: 'me' } }]);
    await s.stop();
  });
});

describe('a deletion that is asked for during the call', () => {
  it('[csi-snapshotter#139] given an answer that is lost, and a program that removes the intent, then it is written again, and no group is left', async () => {
    const s = await aSnapshotter({ seed: [aGroupClass()] });
    s.driver.faults.add({ method: 'CreateVolumeGroupSnapshot', times: 1, at: 'after', action: { kind: 'hang' } });
    s.server.seed(aGroupContent());
    await s.clock.advance(1_000);
    s.changeGroup((it) => asked({ ...it, metadata: { ...it.metadata, annotations: {} } }));
    await s.clock.advance(200_000);
    expect([s.group(), s.driver.groups(), s.driver.snapshots()]).toEqual([undefined, [], []]);
    await s.stop();
  });

  it.each([
    { given: 'a ready answer', prepare: () => undefined, calls: ['CreateVolumeGroupSnapshot', remove] },
    {
      given: 'an answer that is not ready',
      prepare: (s: Fixture) => s.answer('CreateVolumeGroupSnapshot', { group_snapshot: { ready_to_use: false } }),
      calls: ['CreateVolumeGroupSnapshot', remove],
    },
    {
      given: 'a final error',
      prepare: (s: Fixture) => s.failCalls('Internal', { method: 'CreateVolumeGroupSnapshot' }),
      calls: ['CreateVolumeGroupSnapshot'],
    },
  ])(
    '[csi-snapshotter#139, G22] given $given, then it is recorded, and the group goes at once',
    async ({ prepare, calls }) => {
      const s = await aSnapshotter({ seed: [aGroupClass()] });
      s.driver.faults.add({ method: 'CreateVolumeGroupSnapshot', times: 1, action: { kind: 'delay', ms: 5_000 } });
      prepare(s);
      s.server.seed(aGroupContent());
      await s.clock.advance(1_000);
      s.changeGroup(asked);
      await s.clock.advance(4_100);
      expect([s.group(), s.driver.groups(), s.calls().map((it) => it.split(' ')[0])]).toEqual([undefined, [], calls]);
      await s.stop();
    },
  );

  it('[csi-snapshotter#139] given errors that are not final, then the creation is repeated until it is known, and the group goes at once', async () => {
    const s = await aSnapshotter({ seed: [aGroupClass()] });
    const method = 'CreateVolumeGroupSnapshot';
    s.driver.faults.add({ method, times: 1, action: { kind: 'delay', ms: 5_000 } });
    s.failCalls('Aborted', { method, times: 3 });
    s.server.seed(aGroupContent());
    await s.clock.advance(1_000);
    s.changeGroup(asked);
    await s.clock.advance(10_000);
    expect(s.group()?.metadata?.finalizers).toHaveLength(1);
    await s.clock.advance(10_000);
    expect([s.group(), s.driver.groups(), s.driver.snapshots()]).toEqual([undefined, [], []]);
    expect(s.calls().map((it) => it.split(' ')[0])).toEqual([method, method, method, method, remove]);
    await s.stop();
  });
});
