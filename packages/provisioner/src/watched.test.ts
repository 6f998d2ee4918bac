// SPDX-License-Identifier: Apache-2.0
import type { InformerOptions, KubeObject } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aVolume, type ClaimFacts, driverName, type VolumeFacts } from '../testing/builders.ts';
import { aProvisioner } from '../testing/provisioner-fixture.ts';
import { aClone, aDyingClaim, aRestore, aSnapshot } from '../testing/source-builders.ts';
import { annotations, cloningProtection, snapshotSourceProtection } from './names.ts';
import { needsWork } from './volume/volume.ts';
import { watchedSnapshots } from './source/protection/watched.ts';
import { watchedAttachments, watchedClaims, watchedCsiNodes, watchedNodes, watchedVolumes } from './watched.ts';

function keep<T extends KubeObject>(watched: InformerOptions<T>, object: T): T | undefined {
  return watched.transform === undefined ? object : watched.transform.apply(object);
}
const theirs = { [annotations.storageProvisioner]: 'other' };

describe('what is kept', () => {
  it.each([
    ['kept', 'ours and waiting', {}],
    ['kept', 'ours, waiting, being deleted', { deleting: 'yes' }],
    ['kept', 'of another provisioner now, with our finalizer', { annotations: theirs, protection: 'on' }],
    ['kept', 'bound, with our finalizer', { protection: 'on', spec: { volumeName: 'pv' } }],
    ['dropped', 'bound', { spec: { volumeName: 'pv' } }],
    ['dropped', 'of another provisioner', { annotations: theirs }],
    ['dropped', 'of no provisioner yet', { annotations: {} }],
  ] as [string, string, ClaimFacts][])('%s: a claim %s, unchanged', (verdict, _what, facts) => {
    const claim = aClaim(facts);
    expect(keep(watchedClaims(driverName), claim)).toBe(verdict === 'kept' ? claim : undefined);
  });

  it.each([
    ['kept', 'provisioned by us', {}],
    ['kept', 'static, of our driver', { annotations: {} }],
    [
      'kept',
      'migrated to us',
      { annotations: { [annotations.provisionedBy]: 'x', [annotations.migratedTo]: driverName } },
    ],
    ['dropped', 'provisioned by another', { annotations: { [annotations.provisionedBy]: 'other' } }],
    ['dropped', 'static, of another', { annotations: {}, spec: { csi: { driver: 'other', volumeHandle: 'h' } } }],
  ] as [string, string, VolumeFacts][])('%s: a volume %s', (verdict, _what, facts) => {
    expect(keep(watchedVolumes(driverName), aVolume(facts)) !== undefined).toBe(verdict === 'kept');
  });

  it('given an audit, when a volume is kept, then with its size and times, and the same when kept again', () => {
    const watched = watchedVolumes(driverName, { audit: 'on' });
    const volume = aVolume({ spec: { capacity: { storage: '1Gi' } } });
    const times = { creationTimestamp: '2000-01-01T00:00:00Z' };
    const given = {
      ...volume,
      metadata: { ...volume.metadata, ...times },
      status: { phase: 'Released', lastPhaseTransitionTime: '2000-01-02T00:00:00Z' },
    };
    const trimmed = keep(watched, given);
    expect(trimmed?.spec?.capacity).toEqual({ storage: '1Gi' });
    expect(trimmed?.metadata).toMatchObject(times);
    expect(trimmed?.status).toEqual(given.status);
    expect(trimmed && keep(watched, trimmed)).toEqual(trimmed);
    expect(watched.transform!.id).not.toBe(watchedVolumes(driverName).transform!.id);
  });

  it('given an audit, when another provisioner made a volume of the driver, then it is kept, and no loop works on it', () => {
    const watched = watchedVolumes(driverName, { audit: 'on' });
    const theirs = { [annotations.provisionedBy]: 'other' };
    const volume = aVolume({ annotations: theirs });
    const released = { ...volume, status: { phase: 'Released' } };
    const trimmed = keep(watched, released);
    expect(trimmed?.spec?.csi).toMatchObject({ driver: driverName });
    expect(trimmed && needsWork(trimmed)).toBe(false);
    expect(needsWork(released)).toBe(true);
    expect(trimmed && keep(watched, trimmed)).toEqual(trimmed);
    const foreign = aVolume({ annotations: theirs, spec: { csi: { driver: 'other', volumeHandle: 'h' } } });
    expect(keep(watched, foreign)).toBeUndefined();
  });

  it('given published capacity, when a volume is kept, then with its node affinity, and the same when kept again', () => {
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [] }] } };
    const watched = watchedVolumes(driverName, { affinity: 'kept' });
    const trimmed = keep(watched, aVolume({ spec: { mountOptions: ['ro'], nodeAffinity } }));
    expect(trimmed?.spec).toEqual({ ...keep(watchedVolumes(driverName), aVolume())?.spec, nodeAffinity });
    expect(trimmed && keep(watched, trimmed)).toEqual(trimmed);
    expect(watched.transform!.id).not.toBe(watchedVolumes(driverName).transform!.id);
  });

  it('given a volume, when kept, then only with the fields that the loops read, and the same when kept again', () => {
    const large = aVolume({
      annotations: { [annotations.provisionedBy]: driverName, note: 'long' },
      spec: {
        mountOptions: ['ro'],
        csi: { driver: driverName, volumeHandle: 'h', volumeAttributes: { much: 'text' } },
        nodeAffinity: { required: { nodeSelectorTerms: [] } },
      },
    });
    const trimmed = keep(watchedVolumes(driverName), large);
    expect(trimmed).toEqual({
      metadata: {
        name: 'pvc-uid-data',
        uid: 'uid-of-pvc-uid-data',
        resourceVersion: '9',
        annotations: { [annotations.provisionedBy]: driverName },
        finalizers: ['kubernetes.io/pv-protection', 'external-provisioner.volume.kubernetes.io/finalizer'],
      },
      spec: {
        persistentVolumeReclaimPolicy: 'Delete',
        storageClassName: 'fast',
        claimRef: { namespace: 'team', name: 'data', uid: 'uid-data' },
        csi: { driver: driverName, volumeHandle: 'h' },
      },
      status: { phase: 'Released' },
    });
    expect(keep(watchedVolumes(driverName), trimmed ?? large)).toEqual(trimmed);
  });

  it('given nodes, CSINodes and attachments, when kept, then only labels, our keys, and the names of volume and node', () => {
    const metadata = { name: 'n1', uid: 'u', resourceVersion: '3', annotations: { long: 'text' } };
    const identity = { name: 'n1', uid: 'u', resourceVersion: '3' };
    const labels = { zone: 'z1' };
    expect(keep(watchedNodes(), { metadata: { ...metadata, labels }, status: { phase: 'x' } })).toEqual({
      metadata: { ...identity, labels },
    });
    const ours = { name: driverName, nodeID: 'id', topologyKeys: ['zone'] };
    const drivers = [
      { name: 'other', nodeID: 'id', topologyKeys: ['theirs'] },
      { ...ours, allocatable: { count: 3 } },
    ];
    expect(keep(watchedCsiNodes(driverName), { metadata, spec: { drivers } })).toEqual({
      metadata: identity,
      spec: { drivers: [ours] },
    });
    const keyless = { metadata, spec: { drivers: [{ ...ours, topologyKeys: null as never }] } };
    expect(keep(watchedCsiNodes(driverName), keyless)?.spec.drivers).toEqual([{ ...ours, topologyKeys: [] }]);
    const none = { metadata, spec: { drivers: null as never } };
    expect(keep(watchedCsiNodes(driverName), none)?.spec.drivers).toEqual([]);
    const source = { persistentVolumeName: 'pv' };
    const spec = { attacher: 'a', nodeName: 'n1', source };
    expect(keep(watchedAttachments(), { metadata, spec, status: { attached: true } })).toEqual({
      metadata: identity,
      spec,
    });
    expect(keep(watchedAttachments(), { metadata, spec: { ...spec, source: {} } })).toBeUndefined();
  });
});

describe('what is kept for the sake of sources', () => {
  const withSources = watchedClaims(driverName, 'with sources');
  const foreign = { annotations: { [annotations.storageProvisioner]: 'other', note: 'long' } };

  it('given a pending claim of another driver with a source, when kept, then without what no loop reads, and the same when kept again', () => {
    const claim = aRestore({ ...foreign, finalizers: ['example.com/x'], spec: { storageClassName: 'slow' } });
    const trimmed = keep(withSources, claim);
    expect(trimmed).toEqual({
      metadata: {
        namespace: 'team',
        name: 'restored',
        uid: 'uid-restored',
        resourceVersion: '7',
        annotations: { [annotations.storageProvisioner]: 'other' },
      },
      spec: { dataSource: { kind: 'VolumeSnapshot', apiGroup: 'snapshot.storage.k8s.io', name: 'daily' } },
      status: { phase: 'Pending' },
    });
    expect(keep(withSources, trimmed ?? claim)).toEqual(trimmed);
  });

  it('given claims with a source that are ours and waiting, then they are kept whole, as claims are updated by PUT', () => {
    const claim = aClone();
    expect(keep(withSources, claim)).toBe(claim);
    const bound = keep(withSources, aClone({ spec: { volumeName: 'pv' } }));
    expect(bound?.spec).toEqual({ volumeName: 'pv', dataSource: { kind: 'PersistentVolumeClaim', name: 'original' } });
    expect(keep(withSources, bound ?? claim)).toEqual(bound);
  });

  it('given a source that is being deleted, then its finalizer and deletion are kept; others are dropped', () => {
    expect(
      keep(withSources, aDyingClaim({ finalizers: ['example.com/x', cloningProtection] }))?.metadata,
    ).toMatchObject({
      finalizers: [cloningProtection],
      deletionTimestamp: '2026-01-01T00:00:00Z',
    });
    const dropped = [
      aDyingClaim({ finalizers: ['example.com/x'] }),
      aRestore({ ...foreign, phase: 'Bound' }),
      aRestore({ ...foreign, source: { kind: 'Other' } }),
      aClaim(foreign),
    ];
    expect(dropped.map((claim) => keep(withSources, claim))).toEqual(dropped.map(() => undefined));
  });

  it('given a driver without sources, then only claims that the claim loop works on are kept', () => {
    expect([
      keep(watchedClaims(driverName), aRestore(foreign)),
      keep(watchedClaims(driverName), aDyingClaim()),
    ]).toEqual([undefined, undefined]);
  });

  it('given the indexes, then a claim is found by UID only if the claim loop works on it, and by its source', () => {
    const { uid, source } = withSources.indexers ?? {};
    const [ours, theirs] = [aRestore(), aClone(foreign)];
    expect([uid?.(ours), uid?.(theirs)]).toEqual([['uid-restored'], []]);
    expect([source?.(ours), source?.(theirs), source?.(aClaim())]).toEqual([
      ['snapshot/team/daily'],
      ['claim/team/original'],
      [],
    ]);
  });

  it('given snapshots, then those with our finalizer are kept, with identity, finalizer and deletion', () => {
    const watched = watchedSnapshots(300_000);
    expect(keep(watched, aSnapshot({ finalizers: ['example.com/x'] }))).toBeUndefined();
    expect(keep(watched, aSnapshot({ deleting: 'yes' }))).toEqual({
      metadata: {
        namespace: 'team',
        name: 'daily',
        uid: 'uid-of-daily',
        finalizers: [snapshotSourceProtection],
        deletionTimestamp: '2026-01-01T00:00:00Z',
      },
    });
    expect(watched.resyncMs).toBe(300_000);
  });
});

it('given a cluster full of objects of other drivers, when synced, then no queue has any work', async () => {
  const foreign = Array.from({ length: 200 }, (_, index) => [
    aClaim({ name: `claim-${index}`, annotations: theirs }),
    aVolume({ name: `pv-${index}`, annotations: { [annotations.provisionedBy]: 'other' } }),
    aVolume({ name: `bound-${index}`, phase: 'Bound' }),
    aRestore({ name: `restore-${index}`, annotations: theirs }),
    aClone({ name: `clone-${index}`, annotations: theirs, phase: 'Bound' }),
  ]).flat();
  const controller = ['CREATE_DELETE_VOLUME', 'CREATE_DELETE_SNAPSHOT', 'CLONE_VOLUME'] as const;
  const p = await aProvisioner({ seed: foreign, controller });
  await p.clock.advance(16 * 60_000);
  const added = ['claims', 'volumes', 'unsavedpvs', 'snapshotsources', 'clonesources'].map(
    (name) => p.metrics.value('workqueue_adds_total', { name }) ?? 0,
  );
  expect(added).toEqual([0, 0, 0, 0, 0]);
});
