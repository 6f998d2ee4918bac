// SPDX-License-Identifier: Apache-2.0
import type { KubeObject, PersistentVolume } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aCondition, aPod, aVolume, driverName } from '../testing/builders.ts';
import { annotations } from './names.ts';
import {
  claimsUsedBy,
  newlyBoundClaim,
  watchedBy,
  watchedClaims,
  watchedClasses,
  watchedPods,
  watchedVolumes,
} from './watched.ts';

const options = { driverName, resyncMs: 0 };
const kept = <T extends KubeObject>(
  watched: { readonly transform?: { readonly apply: (object: T) => T | undefined } },
  object: T,
): T | undefined => watched.transform?.apply(object);

/** What the server and others add, and the loops do not read. */
const withMore = <T extends KubeObject>(object: T): T => ({
  ...object,
  metadata: { ...object.metadata, labels: { a: '1' }, managedFields: [], resourceVersion: '7' },
});

describe('what is kept, P7', () => {
  it('given a claim with a volume, then the fields that the loops read, and no others', () => {
    const claim = aClaim({
      alloc: '2Gi',
      rstatus: 'x',
      conditions: [aCondition('Resizing')],
      annotations: {
        [annotations.storageResizer]: 'a',
        [annotations.nodeExpansionNotRequired]: 'true',
        'tracing.k8s.io/traceparent': 'c',
        other: 'b',
      },
      wantedClass: 'gold',
      currentClass: 'silver',
      modifyStatus: { status: 'InProgress' },
      deleting: 'yes',
    });
    const { accessModes: _modes, ...spec } = claim.spec ?? {};
    expect(kept(watchedClaims(options), withMore(claim))).toEqual({
      metadata: {
        name: 'data',
        namespace: 'team',
        uid: 'uid-of-data',
        resourceVersion: '7',
        annotations: {
          [annotations.storageResizer]: 'a',
          [annotations.nodeExpansionNotRequired]: 'true',
          'tracing.k8s.io/traceparent': 'c',
        },
        deletionTimestamp: claim.metadata?.deletionTimestamp,
      },
      spec,
      status: claim.status,
    });
    expect(kept(watchedClaims(options), aClaim({ volumeName: '' }))).toBeUndefined();
  });

  it('given a claim that has a volume and neither sizes nor a status, then nothing is added to it', () => {
    const metadata = { name: 'data', namespace: 'team', uid: 'uid-of-data', resourceVersion: '7' };
    expect(kept(watchedClaims(options), { metadata, spec: { volumeName: 'pv1' } })).toEqual({
      metadata,
      spec: { volumeName: 'pv1', resources: {} },
      status: {},
    });
  });

  it('given claims, then they are found by the classes that they wait for', () => {
    const modifyStatus = { status: 'InProgress', targetVolumeAttributesClassName: 'silver' };
    const index = watchedClaims(options).indexers?.['class'];
    expect(
      [aClaim(), aClaim({ wantedClass: 'gold' }), aClaim({ wantedClass: 'gold', modifyStatus })].map((claim) =>
        index?.(claim),
      ),
    ).toEqual([[], ['gold'], ['gold', 'silver']]);
  });

  it('given a CSI volume, then the fields that the loops read; of another driver, nothing', () => {
    const names = [annotations.preResizeCapacity, annotations.modifySecretName, annotations.modifySecretNamespace];
    const ours = Object.fromEntries(names.map((name) => [name, 'x']));
    const volume = aVolume({
      annotations: { ...ours, other: 'y' },
      csi: { fsType: 'xfs', controllerExpandSecretRef: { name: 'a', namespace: 'b' }, volumeAttributes: { c: 'd' } },
      spec: { mountOptions: ['ro'], volumeAttributesClassName: 'gold', storageClassName: 'slow' },
    });
    const { storageClassName: _class, csi, claimRef, ...spec } = volume.spec ?? {};
    const bound = { ...volume, spec: { ...volume.spec, claimRef: { ...claimRef, kind: 'PersistentVolumeClaim' } } };
    const { volumeAttributes: _attributes, ...source } = csi ?? { driver: '', volumeHandle: '' };
    expect(kept(watchedVolumes(options), withMore(bound))).toEqual({
      metadata: { name: 'pv1', uid: 'uid-of-pv1', resourceVersion: '7', annotations: ours },
      spec: { ...spec, claimRef, csi: source },
    });
    const unbound = aVolume({ spec: { claimRef: undefined as never } });
    expect(kept(watchedVolumes(options), unbound)?.spec).not.toHaveProperty('claimRef');
    expect(kept(watchedVolumes(options), aVolume({ csi: { driver: 'other' } }))).toBeUndefined();
  });

  it('given an in-tree volume, then all of it for a driver that replaced a plugin, else nothing', () => {
    const { csi: _csi, ...spec } = aVolume().spec ?? {};
    const volume: PersistentVolume = { ...aVolume(), spec: { ...spec, cinder: { volumeID: 'x' } } };
    expect(kept(watchedVolumes(options), volume)).toBeUndefined();
    const cinder = watchedVolumes({ ...options, driverName: 'cinder.csi.openstack.org' });
    expect([kept(cinder, volume), kept(cinder, aVolume()), kept(cinder, { metadata: { name: 'pv1' } })]).toEqual([
      volume,
      undefined,
      undefined,
    ]);
  });

  it('given a pod, then the claims that it uses; without any, nothing', () => {
    const watched = watchedPods();
    expect(watched.fieldSelector).toBe('status.phase!=Failed,status.phase!=Succeeded');
    const pod = kept(watched, withMore(aPod({ ephemeral: ['scratch'] })));
    expect(pod).toEqual({
      metadata: { name: 'pod', namespace: 'team', uid: 'uid-of-pod', resourceVersion: '7' },
      spec: {
        containers: [],
        volumes: [
          { name: 'v0', persistentVolumeClaim: { claimName: 'data' } },
          { name: 'scratch', persistentVolumeClaim: { claimName: 'pod-scratch' } },
        ],
      },
    });
    expect(pod && watched.indexers?.['claim']?.(pod)).toEqual(['team/data', 'team/pod-scratch']);
    expect(kept(watched, aPod({ claims: [] }))).toBeUndefined();
  });

  it('given a pod without volumes, or with volumes of other kinds, then it uses no claims', () => {
    const metadata = { name: 'pod', namespace: 'team' };
    const others = { metadata, spec: { containers: [], volumes: [{ name: 'tmp', emptyDir: {} }] } };
    for (const pod of [{ metadata }, { metadata, spec: { containers: [] } }, others])
      expect([kept(watchedPods(), pod), claimsUsedBy(pod)]).toEqual([undefined, []]);
  });

  it('given a class, then its driver and parameters', () => {
    expect(kept(watchedClasses(), withMore(aClass()))).toEqual({
      metadata: { name: 'gold', uid: 'uid-of-gold', resourceVersion: '7' },
      driverName,
      parameters: { iops: '1000' },
    });
  });
});

it.each([
  { given: 'a PersistentVolume that appears', previous: undefined, current: aVolume(), then: 'team/data' },
  { given: 'one that changes', previous: aVolume(), current: aVolume({ cap: '2Gi' }), then: undefined },
  {
    given: 'one that is bound to another claim',
    previous: aVolume(),
    current: aVolume({ claim: aClaim({ uid: 'x' }) }),
    then: 'team/data',
  },
  {
    given: 'a PersistentVolume without a claim',
    previous: undefined,
    current: aVolume({ spec: { claimRef: undefined as never } }),
    then: undefined,
  },
  ...[{ metadata: { name: 'pv1' } }, { metadata: { name: 'pv1' }, spec: {} }].flatMap((unbound) => [
    { given: 'one that was bound before', previous: aVolume(), current: unbound, then: undefined },
    { given: 'one that was not bound before', previous: unbound, current: aVolume(), then: 'team/data' },
  ]),
  { given: 'one that is gone', previous: aVolume(), current: undefined, then: undefined },
])('given $given, then the claim that is woken is $then', ({ previous, current, then }) => {
  const change = { previous, current, isInInitialList: false };
  const claims = { get: () => aClaim() };
  const answers = [true, false].map((isOpen) => newlyBoundClaim(change, { claims }, () => isOpen));
  expect([...answers, newlyBoundClaim(change, { claims: { get: () => undefined } }, () => true)]).toEqual([
    then,
    undefined,
    undefined,
  ]);
});

it('given a resync interval, then claims and PersistentVolumes have it, pods and classes have none, and each has a filter of its own', () => {
  const { claims, volumes, pods } = watchedBy({ driverName, resyncMs: 5_000 });
  const watches = [claims, volumes, pods, watchedClasses()];
  expect(watches.map(({ resyncMs, transform }) => [transform?.id, resyncMs])).toEqual([
    ['resizer claims', 5_000],
    [`resizer volumes of ${driverName}`, 5_000],
    ['resizer pods', undefined],
    ['resizer classes', undefined],
  ]);
});
