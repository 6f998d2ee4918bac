// SPDX-License-Identifier: Apache-2.0
/** What the loops rely on in their caches and queues. */
import { type KubeObject, persistentVolumeClaims, type Resource } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotAnnotations,
  snapshotFinalizers,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aGroup,
  aGroupClass,
  aGroupContent,
  aProtectedClaim,
  aSnapshot,
  aStaticContent,
  aStaticGroup,
  aStaticGroupContent,
  aStaticSnapshot,
  aVolume,
} from '../testing/builders.ts';
import { aController, comeLate, type Fixture, forbidden } from '../testing/controller-fixture.ts';
import { aControllerOf } from '../testing/decided.ts';

const ref = { namespace: 'team', name: 'snap' };

it('[snapshot-controller#129] given a watch that is behind the own writes, then the run after them sees what was written, and nothing is written twice', async () => {
  const it = await aController({
    faults: [
      {
        when: ({ verb, resource }) => verb === 'watch' && resource === 'volumesnapshots',
        fault: { kind: 'lag', ms: 500 },
      },
    ],
  });
  await it.add(aSnapshot());
  await it.clock.advance(5_000);
  await it.report({ readyToUse: true });
  await it.clock.advance(5_000);
  expect(it.snapshot()?.status?.readyToUse).toBe(true);
  expect(it.writes().filter((line) => line.startsWith('create')).length).toBe(1);
  expect(it.events.length).toBe(2);
  await it.stop();
});

it('[snapshot-controller#129] given a watch that does not show a content yet, then it is not created again', async () => {
  const late = { kind: 'lag', ms: 30_000 } as const;
  const isLate = ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean =>
    verb === 'watch' && resource === 'volumesnapshotcontents';
  const it = await aController({ faults: [{ when: isLate, fault: late }] });
  await it.clock.advance(120_000);
  await it.add(aSnapshot());
  await it.change(volumeSnapshots, ref, (snapshot) => ({
    ...snapshot,
    metadata: { ...snapshot.metadata, labels: { a: 'b' } },
  }));
  expect(it.writes().filter((line) => line.startsWith('create'))).toEqual([
    'create volumesnapshotcontents snapcontent-uid-of-snap 201',
  ]);
  expect(it.reads()).toEqual([]);
  await it.stop();
});

describe('given a watch that is behind the own writes, when a status is written, then its milestones are reported at once', () => {
  const lagOf = (watched: string) => ({
    when: ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean =>
      verb === 'watch' && resource === watched,
    fault: { kind: 'lag', ms: 500 } as const,
  });
  const started = (watched: string): Promise<Fixture> => {
    const claim = aClaim({ metadata: { labels: { app: 'db' } } });
    return aController({ seed: [claim, aVolume(), aClass(), aGroupClass()], faults: [lagOf(watched)] });
  };
  const reasons = (it: Fixture): readonly (string | undefined)[] => it.events.map((line) => line.split(' ')[1]);

  it('of a snapshot', async () => {
    const it = await started('volumesnapshots');
    await it.add(aSnapshot());
    await it.clock.advance(5_000);
    await it.report({ creationTime: 1n, readyToUse: true });
    expect(reasons(it)).toEqual(['CreatingSnapshot', 'SnapshotCreated', 'SnapshotReady']);
    await it.stop();
  });

  it('of a group', async () => {
    const it = await started('volumegroupsnapshots');
    await it.add(aGroup());
    await it.clock.advance(5_000);
    const volumeSnapshotInfoList = [{ volumeHandle: 'handle-1', snapshotHandle: 's1' }];
    const creationTime = '2026-01-01T00:00:00Z';
    await it.reportGroup({ creationTime, readyToUse: true, volumeGroupSnapshotHandle: 'g1', volumeSnapshotInfoList });
    expect(reasons(it).filter((reason) => reason?.startsWith('GroupSnapshot'))).toEqual([
      'GroupSnapshotCreated',
      'GroupSnapshotReady',
    ]);
    await it.stop();
  });
});

describe('given a watch on contents that is silent for longer than own writes are remembered', () => {
  const isSilent = ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean =>
    verb === 'watch' && ['volumesnapshotcontents', 'volumegroupsnapshotcontents'].includes(resource);
  const aBlindController = async (): Promise<Fixture> => {
    const claim = aClaim({ metadata: { labels: { app: 'db' } } });
    const it = await aController({
      seed: [claim, aVolume(), aClass(), aGroupClass()],
      faults: [{ when: isSilent, fault: { kind: 'lag', ms: 120_000 }, times: 2 }],
    });
    await it.clock.advance(250_000);
    return it;
  };
  const deleted = { deletionTimestamp: expect.any(String) as string };

  it('[snapshot-controller#93] when a bound snapshot is deleted, then its content is found and deleted', async () => {
    const it = await aBlindController();
    await it.add(aSnapshot());
    await it.clock.advance(200);
    expect(it.snapshot()?.status?.boundVolumeSnapshotContentName).toBe('snapcontent-uid-of-snap');
    await it.clock.advance(90_000);
    await it.remove(volumeSnapshots, ref);
    expect(it.content()?.metadata).toMatchObject({
      ...deleted,
      annotations: { [snapshotAnnotations.beingDeleted]: 'yes' },
    });
    await it.stop();
  });

  it('[snapshot-controller#163] when a bound group is deleted, then its content is found and deleted', async () => {
    const it = await aBlindController();
    await it.add(aGroup());
    expect(it.group()?.status?.boundVolumeGroupSnapshotContentName).toBe('groupsnapcontent-uid-of-group');
    await it.clock.advance(90_000);
    await it.remove(volumeGroupSnapshots, { namespace: 'team', name: 'group' });
    expect(it.groupContent()?.metadata).toMatchObject({
      ...deleted,
      annotations: { [snapshotAnnotations.groupBeingDeleted]: 'yes' },
    });
    await it.stop();
  });

  it('[snapshot-controller#73] when a ready snapshot changes, then it stays ready', async () => {
    const it = await aBlindController();
    await it.add(aSnapshot());
    await it.clock.advance(90_000);
    await it.change(volumeSnapshots, ref, (snapshot) => ({
      ...snapshot,
      status: { ...snapshot.status, readyToUse: true, creationTime: '2026-01-01T00:00:00Z' },
    }));
    await it.clock.advance(5_000);
    expect(it.snapshot()?.status).toMatchObject({ readyToUse: true });
    expect(there(it.snapshot()?.status).error).toBeUndefined();
    await it.stop();
  });

  it('[snapshot-controller#149] when a ready group changes, then it stays ready', async () => {
    const it = await aBlindController();
    await it.add(aGroup());
    await it.clock.advance(90_000);
    await it.change(volumeGroupSnapshots, { namespace: 'team', name: 'group' }, (group) => ({
      ...group,
      status: { ...group.status, readyToUse: true },
    }));
    await it.clock.advance(5_000);
    expect(it.group()?.status).toMatchObject({ readyToUse: true });
    expect(there(it.group()?.status).error).toBeUndefined();
    await it.stop();
  });
});

it.each([
  {
    what: 'a snapshot',
    watch: 'volumesnapshots',
    object: aSnapshot({ metadata: { finalizers: [snapshotFinalizers.asSource, snapshotFinalizers.bound] } }),
    resource: volumeSnapshots,
  },
  {
    what: 'a group',
    watch: 'volumegroupsnapshots',
    object: aGroup({ metadata: { finalizers: [snapshotFinalizers.groupBound] } }),
    resource: volumeGroupSnapshots,
  },
])(
  '[snapshot-controller#130, S3, G1] given a cache that still shows $what that is gone, when the controller starts, then no content is made for it',
  async ({ watch, object, resource }) => {
    const it = await aController({
      seed: [aClaim({ metadata: { labels: { app: 'db' } } }), aVolume(), aClass(), aGroupClass(), object],
      faults: [comeLate(watch)],
    });
    it.server.objects.remove(resource, { namespace: 'team', name: object.metadata?.name ?? '' });
    await it.clock.advance(200_000);
    // No run has thrown.
    await it.settle();
    expect(it.writes().filter((line) => line.startsWith('create'))).toEqual([]);
    expect(it.claim()!.metadata?.finalizers ?? []).toEqual([]);
    await it.stop();
  },
);

it.each([
  {
    what: 'snapshot',
    watch: 'volumesnapshots',
    remove: (it: Fixture) => it.server.objects.remove(volumeSnapshots, ref),
    seed: [
      aStaticSnapshot({ metadata: { finalizers: [snapshotFinalizers.asSource, snapshotFinalizers.bound] } }),
      aStaticContent(),
    ],
    later: aStaticSnapshot({ uid: 'later' }),
    latest: (it: Fixture) => it.snapshot(),
    uidIn: (it: Fixture) => it.content('content')?.spec?.volumeSnapshotRef?.uid,
  },
  {
    what: 'group',
    watch: 'volumegroupsnapshots',
    remove: (it: Fixture) => it.server.objects.remove(volumeGroupSnapshots, { namespace: 'team', name: 'group' }),
    seed: [aStaticGroup({ metadata: { finalizers: [snapshotFinalizers.groupBound] } }), aStaticGroupContent()],
    later: aStaticGroup({ uid: 'later' }),
    latest: (it: Fixture) => it.group(),
    uidIn: (it: Fixture) => it.groupContent('content')?.spec?.volumeGroupSnapshotRef?.uid,
  },
])(
  '[snapshot-controller#130] given a cache that still shows a static $what that is gone, when the controller starts, then its content is not bound to it, but to the one that has the name now',
  async ({ watch, remove, seed, later, latest, uidIn }) => {
    const it = await aController({
      seed: [aGroupClass(), ...seed],
      faults: [comeLate(watch)],
    });
    remove(it);
    it.server.seed(later);
    await it.clock.advance(600_000);
    // No run has thrown.
    await it.settle();
    expect(uidIn(it)).toBe('later');
    const found = latest(it);
    expect(found).toMatchObject({ metadata: { uid: 'later' } });
    expect(found?.status ?? {}).not.toHaveProperty('error');
    await it.stop();
  },
);

it('[snapshot-controller#131] given many changes while a run is under way, then one more run follows', async () => {
  const it = await aControllerOf('snapshot-controller-snapshot', { seed: [aClaim(), aVolume(), aClass()] });
  it.fault('patch volumesnapshots', { kind: 'lag', ms: 1_000 });
  await it.add(aSnapshot());
  for (let i = 0; i < 5; i++) {
    await it.change(volumeSnapshots, ref, (snapshot) => ({
      ...snapshot,
      metadata: { ...snapshot.metadata, labels: { change: String(i) } },
    }));
  }
  expect(it.content()).toBeUndefined();
  const begun = (): number => it.decided().filter((line) => line === 'team/snap S3').length;
  expect(begun()).toBe(0);
  await it.clock.advance(1_100);
  // The run that waited for its write, and the one that follows.
  expect(begun()).toBe(2);
  expect(it.writes().filter((line) => line.startsWith('create')).length).toBe(1);
  await it.stop();
});

it('[P25] given snapshots of other claims, then a snapshot is found by its claim and not by a scan', async () => {
  const it = await aController({
    with: [aSnapshot(), aSnapshot({ name: 'other', spec: { source: { persistentVolumeClaimName: 'x' } } })],
  });
  expect(it.logger.lines.filter(({ message }) => message.includes('reads the whole cache'))).toEqual([]);
  await it.stop();
});

const invalid = { spec: { source: {} } };
interface FailingObject {
  readonly queue: string;
  readonly resource: Resource;
  readonly object: KubeObject;
  /** What is decided at once and a second later. */
  readonly rows: readonly string[];
  readonly faults?: readonly FaultRule[];
}
const queues: readonly FailingObject[] = [
  {
    queue: 'snapshot-controller-snapshot',
    resource: volumeSnapshots,
    object: aSnapshot(invalid),
    // The first run also saves the error.
    rows: ['S2', 'S2', 'S2'],
  },
  {
    queue: 'snapshot-controller-content',
    resource: volumeSnapshotContents,
    object: aContent(invalid),
    rows: ['C2', 'C2'],
  },
  {
    queue: 'snapshot-controller-group-snapshot',
    resource: volumeGroupSnapshots,
    object: aGroup(invalid),
    rows: ['G2', 'G2', 'G2'],
  },
  {
    queue: 'snapshot-controller-group-content',
    resource: volumeGroupSnapshotContents,
    object: aGroupContent(invalid),
    rows: ['K2', 'K2'],
  },
  {
    queue: 'snapshot-controller-claim',
    resource: persistentVolumeClaims,
    object: aProtectedClaim({
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [snapshotFinalizers.claim] },
    }),
    // Each run tries to release it.
    rows: ['R3', 'R3', 'R3', 'R3'],
    faults: [
      {
        when: ({ verb, resource }) => `${verb} ${resource}` === 'list volumesnapshots',
        fault: forbidden,
        times: Infinity,
      },
    ],
  },
];

it.each(queues)(
  'given an object in $queue that fails for a minute, when it is deleted and created again, then the backoff begins again',
  async ({ queue, resource, object, rows, faults = [] }) => {
    const it = await aControllerOf(queue, { with: [object], faults });
    await it.clock.advance(60_000);
    const { namespace, name = '' } = object.metadata ?? {};
    it.decided();
    await it.vanish(resource, { namespace, name });
    expect(it.decided()).toEqual([]);
    await it.add(object);
    await it.clock.advance(2_000);
    expect(it.decided().map((line) => line.split(' ')[1])).toEqual(rows);
    const errors = it.logger.lines.flatMap((line) => (line.kind === 'error' ? [line.message] : []));
    expect(new Set(errors)).toEqual(new Set(['Reconcile failed, will retry']));
    await it.stop();
  },
);

it('given the metrics of the queues, then each has the name of its queue', async () => {
  const it = await aController();
  for (const { queue } of queues) expect(it.metrics.value('workqueue_adds_total', { name: queue })).toBe(0);
  await it.stop();
});
