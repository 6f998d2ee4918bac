// SPDX-License-Identifier: Apache-2.0
/** Which changes of other objects wake the snapshot loop, seen from the rows that it decides. */
import {
  createController,
  createKeyedLock,
  type KubeObject,
  noMetrics,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import { createProcess, createTestCluster, there } from '@csi-sidecars/test-driver/testing';
import {
  snapshotFinalizers as finalizers,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { groupSnapshotTypes, snapshotTypes } from '@csi-sidecars/volume/testing';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aGroup,
  aGroupContent,
  aProtectedClaim,
  aSnapshot,
  aVolume,
  someSettings,
  withSpec,
} from '../../testing/builders.ts';
import { type FixtureOptions, forbidden } from '../../testing/controller-fixture.ts';
import { aControllerOf, type ObservedFixture } from '../../testing/decided.ts';
import { bound, deleting, owner, prepared, ready } from '../../testing/snapshot-states.ts';
import { createOperations } from '../operations.ts';
import { clusterRules } from '../rbac.ts';
import { watchedBy } from '../watched.ts';
import { createClaimReleases } from './claim-releases.ts';
import { snapshotLoop } from './loop.ts';
import * as step from './steps.ts';

const claimRef = { namespace: 'team', name: 'data' };
/** It waits for its claim: the claim is not bound. */
const waiting = [aSnapshot(), aClaim({ phase: 'Pending' }), aVolume()];
const isReady = [
  aSnapshot({ metadata: prepared, status: ready }),
  aContent({ status: { readyToUse: true } }),
  aVolume(),
];

const controlled = (options: FixtureOptions): Promise<ObservedFixture> =>
  aControllerOf('snapshot-controller-snapshot', options);

/** A loop whose notes about claims and snapshots can be read. */
async function noting(...seed: readonly KubeObject[]) {
  const cluster = createTestCluster({
    serviceAccount: 'kube-system:snapshot-controller',
    rules: clusterRules,
    driver: {},
  });
  cluster.server.addTypes(...snapshotTypes, ...groupSnapshotTypes);
  for (const object of seed) cluster.server.seed(object);
  const process = createProcess(cluster, { name: 'snapshot-controller', interrupt: undefined });
  const { ports } = process;
  const [settings, releases, left] = [someSettings(), createClaimReleases(), new Array<string>()];
  const [waiting, answersDueMs] = [new Set<string>(), new Map<string, number>()];
  const context = {
    settings,
    events: { record: () => undefined, flush: () => Promise.resolve() },
    operations: createOperations(ports.metrics, ports.clock),
    releases: {
      ...releases,
      leave: (uid: string) => {
        releases.leave(uid);
        left.push(uid);
      },
    },
    waiting,
    answersDueMs,
    claimLock: createKeyedLock(),
  };
  const controller = createController({ ...ports, metrics: noMetrics }, [snapshotLoop(context, watchedBy(settings))]);
  const it = await process.run(controller);
  await it.settle();
  return { it, releases, left, waiting, answersDueMs };
}

describe('a claim', () => {
  it('given this process has protected it, when a person takes the finalizer off and it goes, then nothing is kept of it', async () => {
    const { it, releases } = await noting(aSnapshot(), aClaim(), aVolume(), aClass());
    expect(releases.hasGiven('uid-of-data')).toBe(true);
    it.server.objects.remove(persistentVolumeClaims, claimRef);
    await it.settle();
    expect(releases.hasGiven('uid-of-data')).toBe(false);
    await it.stop();
  });

  it('given a claim whose labels change, then its snapshot is not looked at', async () => {
    const it = await controlled({ with: waiting });
    await it.change(persistentVolumeClaims, claimRef, (claim) => ({
      ...claim,
      metadata: { ...claim.metadata, labels: { a: 'b' } },
    }));
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given a claim that appears, then its snapshot is looked at', async () => {
    const it = await controlled({ with: [aSnapshot()] });
    it.decided();
    await it.add(aClaim());
    expect(it.decided()).not.toEqual([]);
    await it.stop();
  });

  it('given a claim whose phase changes or that is gone, then its snapshot is looked at', async () => {
    const it = await controlled({ with: waiting });
    await it.change(persistentVolumeClaims, claimRef, (claim) => ({ ...claim, status: { phase: 'Lost' } }));
    expect(it.decided()).toContain('team/snap S4');
    await it.vanish(persistentVolumeClaims, claimRef);
    expect(it.decided()).not.toEqual([]);
    await it.stop();
  });

  it('given a claim whose snapshot is ready, when its phase changes, then the snapshot is not looked at', async () => {
    const it = await controlled({ with: [...isReady, aClaim()] });
    await it.change(persistentVolumeClaims, claimRef, (claim) => ({ ...claim, status: { phase: 'Lost' } }));
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given a claim whose snapshot has no status yet, when its phase changes or its volume appears, then the snapshot is looked at', async () => {
    const it = await controlled({ with: waiting.slice(0, 2) });
    it.fault('patch volumesnapshots/status', forbidden, Infinity);
    await it.change(volumeSnapshots, { namespace: 'team', name: 'snap' }, (snapshot) => {
      const { status: _, ...withoutStatus } = snapshot;
      return withoutStatus;
    });
    it.decided();
    await it.change(persistentVolumeClaims, claimRef, (claim) => ({ ...claim, status: { phase: 'Lost' } }));
    expect(it.decided()).not.toEqual([]);
    await it.add(aVolume());
    expect(it.decided()).not.toEqual([]);
    expect(there(it.snapshot()).status).toBeUndefined();
    await it.stop();
  });

  const restoring = (kind: string) =>
    aProtectedClaim({
      name: 'restored',
      phase: 'Pending',
      spec: { dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind, name: 'snap' } },
    });
  const leaving = aSnapshot({ metadata: { ...prepared, ...deleting }, status: ready });

  it.each([
    { given: 'a snapshot that is being deleted', snapshot: leaving, kind: 'VolumeSnapshot', isWoken: true },
    { given: 'a claim of the same name', snapshot: leaving, kind: 'PersistentVolumeClaim', isWoken: false },
    { given: 'a snapshot that stays', snapshot: isReady[0]!, kind: 'VolumeSnapshot', isWoken: false },
  ])(
    'given it was filled from $given, when it is bound, then the snapshot is looked at: $isWoken',
    async ({ snapshot, kind, isWoken }) => {
      const it = await controlled({ with: [snapshot, aContent(), aClaim(), aVolume(), restoring(kind)] });
      it.decided();
      await it.change(persistentVolumeClaims, { namespace: 'team', name: 'restored' }, (claim) => ({
        ...claim,
        status: { phase: 'Bound' },
      }));
      expect(it.decided().length > 0).toBe(isWoken);
      await it.stop();
    },
  );
});

describe('a PersistentVolume', () => {
  const volumeRef = { name: 'pv1' };

  it('given it appears, or is bound to another claim of the name, then the snapshot is looked at; other changes and its end do not matter', async () => {
    const it = await controlled({ with: [aSnapshot(), aClaim({ phase: 'Pending' })] });
    await it.add(aVolume());
    expect(it.decided()).toContain('team/snap S4');
    await it.change(persistentVolumes, volumeRef, (volume) => ({ ...volume, status: { phase: 'Released' } }));
    await it.change(persistentVolumes, volumeRef, withSpec({ volumeMode: 'Block' }));
    expect(it.decided()).toEqual([]);
    const claimRef = { ...aVolume().spec?.claimRef, uid: 'another' };
    await it.change(persistentVolumes, volumeRef, withSpec({ claimRef }));
    expect(it.decided()).toContain('team/snap S4');
    await it.vanish(persistentVolumes, volumeRef);
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given it is bound to the claim later, then the snapshot is looked at', async () => {
    const free = aVolume({ spec: { claimRef: undefined as never } });
    const it = await controlled({ with: [aSnapshot(), aClaim({ phase: 'Pending' }), free] });
    it.decided();
    await it.change(persistentVolumes, volumeRef, () => aVolume());
    expect(it.decided()).toContain('team/snap S4');
    await it.stop();
  });

  it('given the snapshot of its claim is ready, or it has no claim, then nothing is looked at', async () => {
    const it = await controlled({ with: [...isReady.slice(0, 2), aClaim()] });
    await it.add(aVolume(), aVolume({ name: 'free', spec: { claimRef: undefined as never } }));
    expect(it.decided()).toEqual([]);
    await it.stop();
  });
});

describe('a group', () => {
  const groupRef = { namespace: 'team', name: 'group' };
  const leavingMember = aSnapshot({
    metadata: { finalizers: [finalizers.inGroup], ...deleting, ownerReferences: [owner] },
    status: ready,
  });

  it('given it changes, then its members are not looked at; given it is gone, they are', async () => {
    const it = await controlled({ with: [leavingMember, aGroup(), aClaim(), aVolume()] });
    it.decided();
    await it.change(volumeGroupSnapshots, groupRef, (group) => ({
      ...group,
      metadata: { ...group.metadata, labels: { a: 'b' } },
    }));
    expect(it.decided()).toEqual([]);
    expect(it.snapshot()).toBeDefined();
    await it.vanish(volumeGroupSnapshots, groupRef);
    expect(it.decided()[0]).toBe('team/snap D1');
    expect(it.snapshot()).toBeUndefined();
    await it.stop();
  });

  it('given its content gets its handle, then the snapshots of that group are looked at, and other changes do not matter', async () => {
    const inGroup = aContent({ status: { volumeGroupSnapshotHandle: 'g' } });
    const other = aContent({
      of: aSnapshot({ name: 'other', uid: 'o' }),
      status: { volumeGroupSnapshotHandle: 'h' },
    });
    const it = await controlled({
      with: [
        aSnapshot({ metadata: prepared, status: bound }),
        aSnapshot({ name: 'other', uid: 'o', metadata: prepared, status: bound }),
        inGroup,
        other,
        aContent({
          name: 'of-none',
          status: { volumeGroupSnapshotHandle: 'g' },
          spec: { volumeSnapshotRef: undefined as never },
        }),
        aGroupContent({ of: aGroup({ uid: 'gone' }), name: 'made' }),
        aClaim(),
        aVolume(),
      ],
    });
    it.decided();
    const change = (status: object): Promise<void> =>
      it.change(volumeGroupSnapshotContents, { name: 'made' }, (content) => ({ ...content, status }));
    await change({ volumeGroupSnapshotHandle: 'g' });
    expect([...new Set(it.decided().map((line) => line.split(' ')[0]))]).toEqual(['team/snap']);
    await change({ volumeGroupSnapshotHandle: 'g', readyToUse: true });
    expect(it.decided()).toEqual([]);
    await it.vanish(volumeGroupSnapshotContents, { name: 'made' });
    expect(it.decided()).toEqual([]);
    await it.stop();
  });
});

describe('a snapshot that is gone', () => {
  const other = aSnapshot({ name: 'other', uid: 'o', metadata: prepared });
  const readyOther = {
    ...aSnapshot({ name: 'other', uid: 'o', metadata: prepared }),
    status: { boundVolumeSnapshotContentName: 'snapcontent-o', readyToUse: true },
  };

  it('[snapshot-controller#R2] given its claim has our finalizer, then the ready snapshots of the claim are looked at, and no other snapshot', async () => {
    const unready = aSnapshot({ name: 'unready', uid: 'u', metadata: prepared });
    const it = await controlled({ with: [...isReady, aProtectedClaim(), other, unready] });
    it.decided();
    await it.vanish(volumeSnapshots, { namespace: 'team', name: 'other' });
    expect(it.decided().map((line) => line.split(' ')[0])).toEqual(['team/snap']);
    await it.stop();
  });

  it.each([
    { given: 'does not have our finalizer', claims: [aClaim()] },
    { given: 'is gone as well', claims: [] },
  ])('given its claim $given, then no snapshot is looked at', async ({ claims }) => {
    const it = await controlled({
      with: [...isReady, ...claims, readyOther, aContent({ of: other, status: { readyToUse: true } })],
    });
    it.decided();
    await it.vanish(volumeSnapshots, { namespace: 'team', name: 'other' });
    expect(it.decided()).toEqual([]);
    await it.stop();
  });

  it('given it had left its claim, then nothing is kept of it', async () => {
    const { it, releases, left } = await noting(aSnapshot({ metadata: { ...prepared, ...deleting } }), aClaim());
    expect(it.server.objects.get(volumeSnapshots, { namespace: 'team', name: 'snap' })).toBeUndefined();
    expect(left).toEqual(['uid-of-snap']);
    expect(releases.hasLeft('uid-of-snap')).toBe(false);
    await it.stop();
  });

  it('[snapshot-controller#D10] given it had waited for its content, then nothing is kept of it', async () => {
    const content = aContent({ metadata: { finalizers: ['a.io/b'] } });
    const { it, waiting } = await noting(aSnapshot({ metadata: { ...prepared, ...deleting }, status: ready }), content);
    expect([...waiting]).toEqual(['uid-of-snap']);
    it.server.objects.remove(volumeSnapshotContents, { name: content.metadata?.name ?? '' });
    await it.settle();
    expect([...waiting]).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#S22] given its content was made, then nothing is kept of it', async () => {
    const { it, answersDueMs } = await noting(aSnapshot(), aClaim(), aVolume(), aClass());
    expect([...answersDueMs.keys()]).toEqual(['uid-of-snap']);
    it.server.objects.remove(volumeSnapshots, { namespace: 'team', name: 'snap' });
    await it.settle();
    expect([...answersDueMs]).toEqual([]);
    await it.stop();
  });

  it('[snapshot-controller#S22] given another snapshot is taken later than it could wait, then nothing is kept of the first one although it is there', async () => {
    const { it, answersDueMs } = await noting(aSnapshot(), aClaim(), aVolume(), aClass());
    await it.clock.advance(200);
    it.server.seed(aSnapshot({ name: 'later' }));
    await it.settle();
    expect([...answersDueMs.keys()]).toEqual(['uid-of-later']);
    await it.stop();
  });

  it('[snapshot-controller#S22, D10] given it is gone before its content is made or on its way, then no note of it is begun', () => {
    const run = {
      caches: { snapshots: { get: () => undefined } },
      clock: { monotonicMs: () => 0 },
      context: { waiting: new Set(), answersDueMs: new Map() },
    };
    step.noteMade(run as never, aSnapshot());
    step.noteWaiting(run as never, aSnapshot());
    expect([run.context.waiting.size, run.context.answersDueMs.size]).toEqual([0, 0]);
  });
});

it('[snapshot-controller#S1] given a snapshot that is gone, then it is not looked at any more', async () => {
  const it = await controlled({ with: [aSnapshot({ metadata: prepared, status: bound }), aClaim(), aVolume()] });
  it.decided();
  await it.vanish(volumeSnapshots, { namespace: 'team', name: 'snap' });
  expect(it.decided()).toEqual([]);
  // Its operations are not in flight any more.
  expect(it.metrics.value('snapshot_controller_operations_in_flight')).toBe(0);
  // The retry that waited finds nothing to do.
  await it.clock.advance(60_000);
  await it.settle();
  expect(it.decided()).toEqual(['team/snap S1']);
  await it.stop();
});
