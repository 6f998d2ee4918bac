// SPDX-License-Identifier: Apache-2.0
/** What a snapshot shows of its content. */
import { there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotFinalizers as finalizers,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClass,
  aContent,
  aGroup,
  aGroupContent,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
} from '../../testing/builders.ts';
import { aController, conflict, type Fixture, forbidden } from '../../testing/controller-fixture.ts';
import { aControllerOf } from '../../testing/decided.ts';
import { owner } from '../../testing/snapshot-states.ts';

const name = 'snapcontent-uid-of-snap';
const ref = { namespace: 'team', name: 'snap' };
const bound = { boundVolumeSnapshotContentName: name, readyToUse: false };
const error = { time: '2026-01-01T00:00:00Z', message: 'no' };
const prepared = { finalizers: [finalizers.asSource, finalizers.bound] };
const full = { creationTime: 1_700_000_000_123_456_789n, readyToUse: true, restoreSize: 2 ** 30 };
const shown = { creationTime: '2023-11-14T22:13:20Z', readyToUse: true, restoreSize: '1Gi' };
const reasons = (it: Fixture): readonly string[] => it.events.map((line) => line.split(' ')[1] ?? '');

describe('from the content to the snapshot', () => {
  it.each([
    {
      id: '[snapshot-controller#55, 66]',
      given: 'no status',
      status: undefined,
      content: full,
      then: { ...bound, ...shown },
    },
    {
      id: '[snapshot-controller#56]',
      given: 'an empty status',
      status: {},
      content: full,
      then: { ...bound, ...shown },
    },
    {
      id: '[snapshot-controller#56]',
      given: 'a status whose name of the content is empty',
      status: { boundVolumeSnapshotContentName: '' },
      content: full,
      then: { ...bound, ...shown },
    },
    {
      id: '[snapshot-controller#57]',
      given: 'a content that is not ready',
      status: undefined,
      content: { readyToUse: false },
      then: bound,
    },
    {
      id: '[snapshot-controller#58]',
      given: 'no creation time',
      status: bound,
      content: { readyToUse: true },
      then: { ...bound, readyToUse: true },
    },
    {
      id: '[snapshot-controller#60]',
      given: 'an error of the content',
      status: bound,
      content: { error },
      then: { ...bound, error },
    },
    {
      id: '[snapshot-controller#61]',
      given: 'an error that is over',
      status: { ...bound, error },
      content: {},
      then: bound,
    },
    {
      id: '[snapshot-controller#61]',
      given: 'an error that is over when the content is ready',
      status: { ...bound, error },
      content: { readyToUse: true },
      then: { ...bound, readyToUse: true },
    },
    {
      id: '[snapshot-controller#62]',
      given: 'another error',
      status: { ...bound, error: { time: '2025-01-01T00:00:00Z', message: 'old' } },
      content: { error },
      then: { ...bound, error },
    },
    {
      id: '[snapshot-controller#62]',
      given: 'another error of the same time',
      status: { ...bound, error: { ...error, message: 'old' } },
      content: { error },
      then: { ...bound, error },
    },
    {
      id: '[snapshot-controller#62]',
      given: 'the same error at another time',
      status: { ...bound, error: { ...error, time: '2025-01-01T00:00:00Z' } },
      content: { error },
      then: { ...bound, error },
    },
    {
      id: '[snapshot-controller#64]',
      given: 'a size of zero',
      status: { ...bound, restoreSize: '0' },
      content: { restoreSize: 1024 },
      then: { ...bound, restoreSize: '1Ki' },
    },
    {
      id: '[snapshot-controller#64]',
      given: 'a size',
      status: { ...bound, restoreSize: '5' },
      content: { restoreSize: 1024 },
      then: { ...bound, restoreSize: '5' },
    },
    {
      id: '[snapshot-controller#65]',
      given: 'no size of the content',
      status: bound,
      content: { readyToUse: false },
      then: bound,
    },
    {
      id: '[snapshot-controller#55]',
      given: 'a size above 2^53',
      status: undefined,
      content: { restoreSize: 9_007_199_254_740_993n },
      then: { ...bound, restoreSize: '9007199254740993' },
    },
  ])('[snapshot-controller#S16] $id given $given, then the snapshot shows it', async ({ status, content, then }) => {
    const snapshot = aSnapshot({ metadata: prepared, ...(status === undefined ? {} : { status }) });
    const it = await aController({ with: [snapshot, aContent({ status: content })] });
    expect(it.snapshot()?.status).toEqual(then);
    await it.stop();
  });

  it('[snapshot-controller#62, S17] [P29] given equal errors, then nothing is written', async () => {
    const it = await aController({
      with: [aSnapshot({ metadata: prepared, status: { ...bound, error } }), aContent({ status: { error } })],
    });
    expect(it.writes()).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#64] [P29] given a size of zero in both, then nothing is written', async () => {
    const it = await aController({
      with: [
        aSnapshot({ metadata: prepared, status: { ...bound, restoreSize: '0' } }),
        aContent({ status: { readyToUse: false, restoreSize: 0 } }),
      ],
    });
    expect(it.writes()).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#59, 120] given a creation time before readiness, then each is reported when it comes, and the content is not written', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.report({ creationTime: full.creationTime, readyToUse: false });
    expect(reasons(it)).toEqual(['CreatingSnapshot', 'SnapshotCreated']);
    await it.report({ ...full });
    expect(reasons(it)).toEqual(['CreatingSnapshot', 'SnapshotCreated', 'SnapshotReady']);
    expect(it.content()?.status).toEqual(full);
    expect(it.writes().filter((line) => line.includes('volumesnapshotcontents'))).toEqual([
      `create volumesnapshotcontents ${name} 201`,
    ]);
    await it.stop();
  });

  it('[snapshot-controller#58] given no creation time, then only the readiness is reported', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.report({ readyToUse: true });
    expect(reasons(it)).toEqual(['CreatingSnapshot', 'SnapshotReady']);
    await it.stop();
  });

  it('[snapshot-controller#63, 73] given a ready snapshot, when its content is not ready or fails, then the snapshot stays as it is, without a request', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.report(full);
    const [status, requests] = [it.snapshot()?.status, it.writes().length];
    await it.report({ ...full, readyToUse: false, error });
    expect([it.snapshot()?.status, it.writes().length]).toEqual([status, requests]);
    await it.stop();
  });

  it('[snapshot-controller#67] [P28] given a status that cannot be written, then nothing is reported as created before it is', async () => {
    const it = await aController({ with: [aSnapshot()] });
    it.fault('patch volumesnapshots/status', forbidden, 2);
    await it.report(full);
    expect(reasons(it).filter((reason) => reason === 'SnapshotCreated')).toEqual([]);
    await it.clock.advance(5_000);
    expect(reasons(it).filter((reason) => ['SnapshotCreated', 'SnapshotReady'].includes(reason))).toEqual([
      'SnapshotCreated',
      'SnapshotReady',
    ]);
    await it.stop();
  });

  it('[snapshot-controller#67] given a conflict, then the snapshot is read again in place, and reported once', async () => {
    const it = await aController({ with: [aSnapshot()] });
    it.fault('patch volumesnapshots/status', conflict);
    await it.report(full);
    await it.clock.advance(50);
    expect(reasons(it)).toEqual(['CreatingSnapshot', 'SnapshotCreated', 'SnapshotReady']);
    await it.stop();
  });

  it.each([
    { what: 'breaks', fault: { kind: 'break', point: 'after', failure: 'reset' } as const },
    { what: 'is an error', fault: { kind: 'status', point: 'after', code: 504, reason: 'Timeout' } as const },
  ])(
    '[snapshot-controller#67] given a status that is written although its answer $what, then it is reported once, and counted',
    async ({ fault }) => {
      const it = await aController({ with: [aSnapshot()] });
      it.fault('patch volumesnapshots/status', fault);
      await it.report(full);
      await it.clock.advance(5_000);
      expect(it.snapshot()?.status).toMatchObject({ readyToUse: true });
      expect(reasons(it)).toEqual(['CreatingSnapshot', 'SnapshotCreated', 'SnapshotReady']);
      expect(it.metrics.value('snapshot_controller_operations_in_flight')).toBe(0);
      await it.stop();
    },
  );

  it('[snapshot-controller#68] given a snapshot that goes while its status is written, then there is no event', async () => {
    const it = await aController({ with: [aSnapshot()] });
    it.fault('patch volumesnapshots/status', { kind: 'delay', ms: 1_000 });
    await it.report(full);
    await it.vanish(volumeSnapshots, ref);
    await it.clock.advance(5_000);
    expect(reasons(it)).toEqual(['CreatingSnapshot']);
    await it.stop();
  });

  it('given a snapshot that another replica made ready, and that is deleted at once, then its readiness is not reported', async () => {
    const it = await aController({ with: [aSnapshot()] });
    await it.change(volumeSnapshots, ref, ({ metadata, ...snapshot }) => ({
      ...snapshot,
      metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { ...bound, ...shown },
    }));
    expect(reasons(it)).toEqual(['CreatingSnapshot']);
    await it.stop();
  });

  it.each([
    { given: 'an error without a message', status: { error: {} } },
    { given: 'a creation time that is no number', status: { creationTime: 'today' as never, restoreSize: 1.5 } },
    { given: 'no status', status: undefined },
  ])('[P22] given $given in the content, then the snapshot is bound all the same', async ({ status }) => {
    const it = await aController({ with: [aSnapshot(), aContent(status === undefined ? {} : { status })] });
    expect(it.snapshot()?.status).toMatchObject(bound);
    await it.stop();
  });
});

describe('the group of a content', () => {
  const static_ = [
    aStaticSnapshot(),
    aStaticContent({ status: { readyToUse: true, volumeGroupSnapshotHandle: 'g1' } }),
  ];
  const group = aGroup();
  const groupContent = (driver?: string) =>
    aGroupContent({
      status: { volumeGroupSnapshotHandle: 'g1' },
      ...(driver === undefined ? {} : { spec: { driver } }),
    });

  it('[snapshot-controller#69, 70] given a group that is not known, then nothing is written, until the group is there', async () => {
    const it = await aController({ with: static_ });
    const text =
      'Snapshot status update failed, updateSnapshotStatus: cannot find the group snapshot for VolumeSnapshot [team/snap], will not update snapshot status';
    expect(it.events).toEqual([`Warning SnapshotStatusUpdateFailed team/snap: ${text}`]);
    expect(there(it.snapshot()?.status).boundVolumeSnapshotContentName).toBeUndefined();
    await it.add(group, groupContent());
    expect(it.snapshot()?.status).toMatchObject({ readyToUse: true, volumeGroupSnapshotName: 'group' });
    await it.stop();
  });

  it('[snapshot-controller#70] given a content that is part of a group in another namespace, when an unrelated group of that name is in its own, then the snapshot becomes ready, belongs to no group, and stays when that one is deleted', async () => {
    const elsewhere = aGroup({ namespace: 'elsewhere', uid: 'uid-elsewhere' });
    const metadata = { finalizers: [finalizers.groupBound] };
    const it = await aController({
      with: [
        ...static_,
        elsewhere,
        aGroupContent({ of: elsewhere, name: 'g', status: { volumeGroupSnapshotHandle: 'g1' } }),
        aGroup({ metadata }),
      ],
    });
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: 'content', readyToUse: true });
    const stored = it.snapshot()?.metadata;
    expect(stored).toMatchObject({ name: 'snap' });
    expect(stored).not.toHaveProperty('ownerReferences');
    await it.remove(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    expect(it.group()).toBeUndefined();
    expect(it.snapshot()?.metadata).toEqual(stored);
    await it.stop();
  });

  it('[snapshot-controller#75] given a ready snapshot whose status names a group of another namespace, as an earlier release wrote it, then the unrelated group of that name does not become its owner, and does not keep it', async () => {
    const elsewhere = aGroup({ namespace: 'elsewhere', uid: 'uid-elsewhere' });
    const status = { volumeGroupSnapshotHandle: 'g1' };
    const it = await aController({
      with: [
        aStaticSnapshot({
          metadata: prepared,
          status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, volumeGroupSnapshotName: 'group' },
        }),
        aStaticContent({
          metadata: { finalizers: [finalizers.content] },
          spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
          status: { readyToUse: true, ...status },
        }),
        aGroupContent({ of: elsewhere, name: 'g', status }),
        aGroup({ metadata: { finalizers: [finalizers.groupBound] } }),
      ],
    });
    expect(it.writes().filter((line) => line.includes('volumesnapshots'))).toEqual([]);
    await it.remove(volumeSnapshots, ref);
    await it.letGo('content');
    expect(it.snapshot()).toBeUndefined();
    expect(it.events.filter((line) => line.includes('SnapshotDeletePending'))).toEqual([]);
    await it.stop();
  });

  it('[P24] given the same handle of another driver, then it is not the group', async () => {
    const it = await aController({ with: [...static_, group, groupContent('other.example.com')] });
    expect(there(it.snapshot()?.status).volumeGroupSnapshotName).toBeUndefined();
    await it.stop();
  });

  it('[P24] given a content of the same handle that was retained from a group that is gone, then the group that is there counts', async () => {
    const earlier = aGroup({ name: 'earlier', uid: 'uid-of-earlier' });
    const retained = aGroupContent({ of: earlier, name: 'a', status: { volumeGroupSnapshotHandle: 'g1' } });
    const it = await aController({ with: [retained, group, groupContent(), ...static_] });
    expect(it.snapshot()?.status?.volumeGroupSnapshotName).toBe('group');
    await it.stop();
  });

  it('[P21] given that groups are switched off, then the snapshot is bound without the name of its group', async () => {
    const it = await aController({ with: static_, settings: { groups: false } });
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: 'content', readyToUse: true });
    await it.stop();
  });
});

describe('ready snapshots', () => {
  const ready = { ...bound, readyToUse: true };
  const retries = (it: Fixture): readonly unknown[] =>
    it.logger.lines.filter(({ message }) => message.includes('will retry'));

  it('[snapshot-controller#72] given a content with another UID under the expected name, then it is called misbound, and tried again', async () => {
    const it = await aController({
      with: [aSnapshot({ status: ready }), aContent({ of: aSnapshot({ uid: 'another' }), name })],
    });
    expect(it.snapshot()?.status).toMatchObject({ readyToUse: false });
    expect(it.events).toContain(
      `Warning SnapshotContentMisbound team/snap: VolumeSnapshotContent [${name}] is bound to a different snapshot`,
    );
    expect(retries(it)).not.toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#72] given a static content that was made again without a UID, then the ready snapshot is reported as not bound correctly, and bound to it at once', async () => {
    const status = { boundVolumeSnapshotContentName: 'content', readyToUse: true };
    const it = await aController({
      with: [aStaticSnapshot({ metadata: prepared, status }), aStaticContent({ status: { readyToUse: true } })],
    });
    expect(it.events).toEqual([
      'Warning SnapshotMisbound team/snap: VolumeSnapshotContent is not bound to the VolumeSnapshot correctly',
      'Normal SnapshotReady team/snap: Snapshot team/snap is ready to use.',
    ]);
    expect(it.content('content')?.spec?.volumeSnapshotRef?.uid).toBe('uid-of-snap');
    expect(it.snapshot()?.status).toEqual(status);
    await it.stop();
  });

  it('[snapshot-controller#72, S19] given a content with another UID under another name, then it is not bound correctly, and not tried again', async () => {
    const status = { boundVolumeSnapshotContentName: 'x', readyToUse: true };
    const it = await aController({
      with: [aSnapshot({ status }), aContent({ of: aSnapshot({ uid: 'another' }), name: 'x' })],
    });
    expect(it.events[0]).toBe(
      'Warning SnapshotMisbound team/snap: VolumeSnapshotContent is not bound to the VolumeSnapshot correctly',
    );
    expect(it.snapshot()?.status?.readyToUse).toBe(false);
    expect(retries(it)).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#75] given a ready static member, then its group becomes its owner beside the others', async () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' };
    const snapshot = aStaticSnapshot({
      metadata: { ownerReferences: [other], finalizers: prepared.finalizers },
      status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, volumeGroupSnapshotName: 'group' },
    });
    const content = aStaticContent({
      spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
    });
    const it = await aController({ with: [snapshot, content] });
    await it.clock.advance(2_000);
    expect(it.snapshot()?.metadata?.ownerReferences).toEqual([other]);
    await it.add(aGroup());
    expect(it.snapshot()?.metadata?.ownerReferences).toEqual([other, owner]);
    await it.stop();
  });

  it('[snapshot-controller#75] given a group that became the owner a moment before, when the cache is behind, then it becomes the owner once', async () => {
    const owner = { apiVersion: 'groupsnapshot.storage.k8s.io/v1', kind: 'VolumeGroupSnapshot', name: 'group' };
    const snapshot = aStaticSnapshot({
      metadata: { finalizers: prepared.finalizers },
      status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, volumeGroupSnapshotName: 'group' },
    });
    const content = aStaticContent({
      spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
    });
    const it = await aController({ with: [content, aGroup()] });
    const ownerReferences = [{ ...owner, uid: 'uid-of-group' }];
    it.overtake('patch volumesnapshots', volumeSnapshots, {
      ref,
      change: (known) => ({ ...known, metadata: { ...known.metadata, ownerReferences } }),
    });
    await it.add(snapshot);
    await it.clock.advance(1_000);
    expect(it.writes().filter((line) => line.startsWith('patch volumesnapshots '))).toEqual([
      'patch volumesnapshots team/snap 409',
    ]);
    expect(it.snapshot()?.metadata?.ownerReferences).toEqual(ownerReferences);
    await it.stop();
  });

  it('[snapshot-controller#75, S20] given a group that the cache still shows and that is gone, then it does not become the owner of a ready static member, which the garbage collector would delete', async () => {
    const content = aStaticContent({
      spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
    });
    const slow = { kind: 'lag', ms: 60_000 } as const;
    const it = await aController({
      with: [content, aGroup({ metadata: { finalizers: [finalizers.groupBound] } })],
      faults: [{ when: ({ verb, resource }) => verb === 'watch' && resource === 'volumegroupsnapshots', fault: slow }],
    });
    await it.clock.advance(100_000);
    it.server.objects.remove(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    await it.add(
      aStaticSnapshot({
        metadata: { finalizers: prepared.finalizers },
        status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, volumeGroupSnapshotName: 'group' },
      }),
    );
    await it.clock.advance(30_000);
    expect(it.reads()).toContain('get volumegroupsnapshots group');
    expect(it.snapshot()?.metadata).toMatchObject({ uid: 'uid-of-snap' });
    expect(there(it.snapshot()).metadata).not.toHaveProperty('ownerReferences');
    await it.stop();
  });

  it.each([
    { id: '[snapshot-controller#76]', given: 'an empty group name', more: { volumeGroupSnapshotName: '' }, owners: [] },
    {
      id: '[snapshot-controller#77]',
      given: 'an owner of another API group',
      more: {},
      owners: [{ apiVersion: 'example.com/v1', kind: 'VolumeGroupSnapshot', name: 'group', uid: 'uid-of-group' }],
    },
    {
      id: '[snapshot-controller#77]',
      given: 'an owner of another kind',
      more: {},
      owners: [{ apiVersion: 'groupsnapshot.storage.k8s.io/v1', kind: 'Other', name: 'group', uid: 'uid-of-group' }],
    },
  ])('$id given $given, then the snapshot is no member', async ({ more, owners }) => {
    const snapshot = aSnapshot({
      metadata: { ...prepared, ownerReferences: owners },
      status: { ...ready, ...more },
    });
    const it = await aController({ with: [snapshot, aContent(), aGroup()] });
    expect(it.writes().filter((line) => line.includes('volumesnapshots'))).toEqual([]);
    await it.remove(volumeSnapshots, ref);
    expect(it.events.filter((line) => line.includes('SnapshotDeletePending'))).toEqual([]);
    await it.stop();
  });

  it('[P23] given a ready static member whose owner has an older version, then it gets no second owner', async () => {
    const apiVersion = 'groupsnapshot.storage.k8s.io/v1beta1';
    const owner = { apiVersion, kind: 'VolumeGroupSnapshot', name: 'group', uid: 'uid-of-group' };
    const snapshot = aStaticSnapshot({
      metadata: { ownerReferences: [owner], finalizers: prepared.finalizers },
      status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, volumeGroupSnapshotName: 'group' },
    });
    const content = aStaticContent({
      metadata: { finalizers: [finalizers.content] },
      spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
    });
    const it = await aController({ with: [snapshot, content, aGroup()] });
    expect(it.snapshot()?.metadata?.ownerReferences).toEqual([owner]);
    expect(it.writes().filter((line) => line.includes('snap '))).toEqual([]);
    await it.stop();
  });

  it('[P10] given a content whose labels change, then its ready snapshot is not looked at; at a resync, it costs no request', async () => {
    const it = await aControllerOf('snapshot-controller-snapshot', {
      with: [aClass(), aSnapshot({ metadata: prepared, status: ready }), aContent({ status: { readyToUse: true } })],
    });
    await it.change(volumeSnapshotContents, { name }, (found) => ({
      ...found,
      metadata: { ...found.metadata, labels: { a: 'b' } },
    }));
    expect(it.decided()).toEqual([]);
    await it.clock.advance(1_000_000);
    expect(it.decided()).toEqual(['team/snap S21']);
    expect([it.writes(), it.reads()]).toEqual([[], []]);
    await it.stop();
  });
});

it.each([{ value: 1e30 }, { value: -1e300 }, { value: 2n ** 63n }, { value: 1.5 }])(
  '[snapshot-controller#66] given a time or size of $value, which no int64 is, then the snapshot becomes ready without it',
  async ({ value }) => {
    const it = await aController({
      with: [
        aSnapshot({ metadata: prepared }),
        aContent({ status: { readyToUse: true, creationTime: value, restoreSize: value } }),
      ],
    });
    expect(it.snapshot()?.status).toEqual({ boundVolumeSnapshotContentName: name, readyToUse: true });
    await it.stop();
  },
);
