// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '@csi-sidecars/runtime';
import { decideClaim, type ClaimState } from './claim.ts';
import { decideVolume, unbound, type VolumeState } from './volume.ts';
import { findMatch } from './match.ts';
import { withClaimRef, withStatus, withVolumeName } from './bind.ts';

const reference = { name: 'data', namespace: 'app', uid: 'claim-1' };
const boundMark = { 'pv.kubernetes.io/bind-completed': 'yes' };

function aClaim(spec: PersistentVolumeClaim['spec'] = {}, metadata: object = {}): PersistentVolumeClaim {
  const wanted = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  return { metadata: { ...reference, ...metadata }, spec: { ...wanted, ...spec } };
}

function aVolume(spec: PersistentVolume['spec'] = {}, phase = 'Available', metadata: object = {}): PersistentVolume {
  const offered = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  return { metadata: { name: 'pv', ...metadata }, spec: { ...offered, ...spec }, status: { phase } };
}

function aClass(volumeBindingMode: string, provisioner = 'csi.example.com'): StorageClass {
  return { metadata: { name: 'fast' }, provisioner, volumeBindingMode };
}

describe('a claim', () => {
  const free: ClaimState = { claim: aClaim(), storageClass: undefined, named: undefined, match: undefined };
  const bound = aClaim({ volumeName: 'pv' }, { annotations: boundMark });
  const mine = aVolume({ claimRef: reference });
  const others = aVolume({ claimRef: { ...reference, uid: 'claim-2' } });
  const deleted = aClaim({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
  const selected = aClaim({}, { annotations: { 'volume.kubernetes.io/selected-node': 'node-1' } });
  const waits = aClass('WaitForFirstConsumer');

  it.each([
    { given: 'bound, its reference gone', state: { claim: aClaim({}, { annotations: boundMark }) }, then: 'lose' },
    { given: 'bound, its volume gone', state: { claim: bound }, then: 'lose' },
    { given: 'bound to the volume of another', state: { claim: bound, named: others }, then: 'lose' },
    { given: 'bound, perhaps unfinished', state: { claim: bound, named: mine }, then: 'bind' },
    { given: 'being deleted, with a match', state: { claim: deleted, match: mine }, then: 'bind' },
    { given: 'naming a free volume', state: { claim: aClaim({ volumeName: 'pv' }), named: aVolume() }, then: 'bind' },
    {
      given: 'naming the volume of another claim',
      state: { claim: aClaim({ volumeName: 'pv' }), named: others },
      then: 'none',
    },
    { given: 'naming a volume to come', state: { claim: aClaim({ volumeName: 'pv' }) }, then: 'none' },
    { given: 'with a match', state: { match: aVolume(), storageClass: waits }, then: 'bind' },
    { given: 'without a class', state: {}, then: 'none' },
    {
      given: 'with a class that provisions nothing',
      state: { storageClass: aClass('Immediate', 'kubernetes.io/no-provisioner') },
      then: 'none',
    },
    { given: 'waiting for its consumer', state: { storageClass: waits }, then: 'waitForConsumer' },
    { given: 'waiting, a node selected', state: { claim: selected, storageClass: waits }, then: 'provision' },
    { given: 'with an immediate class', state: { storageClass: aClass('Immediate') }, then: 'provision' },
  ])('given one $given, then: $then', ({ state, then }) => {
    expect(decideClaim({ ...free, ...state }).kind).toBe(then);
  });
});

describe('a volume', () => {
  const dynamic = { annotations: { 'pv.kubernetes.io/provisioned-by': 'csi.example.com' } };
  const taken = (phase: string, spec: object = {}, metadata: object = {}): PersistentVolume =>
    aVolume({ claimRef: reference, ...spec }, phase, metadata);
  const removable = { persistentVolumeReclaimPolicy: 'Delete' };

  it.each<{ given: string; state: VolumeState; then: object }>([
    {
      given: 'new',
      state: { volume: aVolume({}, 'Pending'), claim: undefined },
      then: { kind: 'phase', phase: 'Available' },
    },
    { given: 'free', state: { volume: aVolume(), claim: undefined }, then: { kind: 'none' } },
    {
      given: 'reserved by a person',
      state: { volume: aVolume({ claimRef: { name: 'data', namespace: 'app' } }, 'Pending'), claim: undefined },
      then: { kind: 'phase', phase: 'Available' },
    },
    {
      given: 'whose claim is gone',
      state: { volume: taken('Bound'), claim: undefined },
      then: { kind: 'phase', phase: 'Released' },
    },
    {
      given: 'whose claim is another of that name',
      state: { volume: taken('Bound'), claim: aClaim({ volumeName: 'pv' }, { uid: 'claim-2' }) },
      then: { kind: 'phase', phase: 'Released' },
    },
    {
      given: 'whose claim names it',
      state: { volume: taken('Pending'), claim: aClaim({ volumeName: 'pv' }) },
      then: { kind: 'phase', phase: 'Bound' },
    },
    {
      given: 'whose claim names no volume yet',
      state: { volume: taken('Pending'), claim: aClaim() },
      then: { kind: 'none' },
    },
    {
      given: 'whose claim names another volume',
      state: { volume: taken('Pending'), claim: aClaim({ volumeName: 'x' }) },
      then: { kind: 'unbind' },
    },
    {
      given: 'provisioned for a claim that names another volume',
      state: { volume: taken('Pending', removable, dynamic), claim: aClaim({ volumeName: 'x' }) },
      then: { kind: 'phase', phase: 'Released' },
    },
    { given: 'released and retained', state: { volume: taken('Released'), claim: undefined }, then: { kind: 'none' } },
    {
      given: 'released, its provisioner deletes it',
      state: { volume: taken('Released', removable, dynamic), claim: undefined },
      then: { kind: 'none' },
    },
    {
      given: 'released, no provisioner can delete it',
      state: { volume: taken('Released', removable), claim: undefined },
      then: { kind: 'fail', message: expect.stringContaining('no deletable volume plugin') as string },
    },
    { given: 'failed', state: { volume: taken('Failed', removable), claim: undefined }, then: { kind: 'none' } },
  ])('given one $given, then: $then', ({ state, then }) => {
    expect(decideVolume(state)).toEqual(then);
  });

  it('given a reference by the controller, when unbound, then it is removed; one by a user keeps its name', () => {
    const marked = { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } };
    expect(unbound(taken('Pending', {}, marked)).spec).not.toHaveProperty('claimRef');
    expect(unbound(taken('Pending')).spec?.claimRef).toEqual({ name: 'data', namespace: 'app' });
  });
});

describe('matching', () => {
  const sized = (name: string, storage: string, spec: object = {}): PersistentVolume =>
    aVolume({ capacity: { storage }, ...spec }, 'Available', { name });

  it.each([
    { given: 'several sizes', volumes: [sized('l', '5Gi'), sized('m', '2Gi'), sized('s', '512Mi')], then: 'm' },
    {
      given: 'a reserved one',
      volumes: [sized('m', '2Gi'), sized('r', '9Gi', { claimRef: { name: 'data', namespace: 'app' } })],
      then: 'r',
    },
    { given: 'another class', volumes: [sized('m', '2Gi', { storageClassName: 'x' })], then: undefined },
    { given: 'another mode', volumes: [sized('m', '2Gi', { volumeMode: 'Block' })], then: undefined },
    { given: 'another access', volumes: [sized('m', '2Gi', { accessModes: ['ReadOnlyMany'] })], then: undefined },
    { given: 'one that is not available', volumes: [aVolume({}, 'Released', { name: 'm' })], then: undefined },
    { given: 'one being deleted', volumes: [aVolume({}, 'Available', { deletionTimestamp: 'x' })], then: undefined },
  ])('given $given, then: $then', ({ volumes, then }) => {
    expect(findMatch(aClaim(), volumes)?.metadata?.name).toBe(then);
  });

  it('given a node, then only volumes that it can reach match', () => {
    const term = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] };
    const local = sized('m', '2Gi', { nodeAffinity: { required: { nodeSelectorTerms: [term] } } });
    const inZone = (zone: string) => ({ metadata: { name: 'n', labels: { zone } } });
    expect(findMatch(aClaim(), [local], inZone('a'))).toBe(local);
    expect(findMatch(aClaim(), [local], inZone('b'))).toBeUndefined();
  });
});

describe('the writes of a binding', () => {
  it('given a free volume, then reference, name and status are written and marked as made by the controller', () => {
    const pair = { claim: aClaim(), volume: aVolume() };
    expect(withClaimRef(pair)).toMatchObject({
      metadata: { annotations: { 'pv.kubernetes.io/bound-by-controller': 'yes' } },
      spec: { claimRef: { kind: 'PersistentVolumeClaim', ...reference } },
    });
    expect(withVolumeName(pair)).toMatchObject({
      metadata: { annotations: { ...boundMark, 'pv.kubernetes.io/bound-by-controller': 'yes' } },
      spec: { volumeName: 'pv' },
    });
    expect(withStatus(pair)?.status).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
    });
  });

  it('given a binding that is complete, then nothing is written', () => {
    const claim = {
      ...aClaim({ volumeName: 'pv' }, { annotations: boundMark }),
      status: { phase: 'Bound', capacity: { storage: '1Gi' } },
    };
    const pair = { claim, volume: aVolume({ claimRef: reference }, 'Bound') };
    expect([withClaimRef(pair), withVolumeName(pair), withStatus(pair)]).toEqual([undefined, undefined, undefined]);
  });
});
