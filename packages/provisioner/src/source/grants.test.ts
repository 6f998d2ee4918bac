// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { isGranted, type Reference, type ReferenceGrant } from './grants.ts';

const group = 'snapshot.storage.k8s.io';
const toSnapshot: Reference = {
  fromNamespace: 'team',
  group,
  kind: 'VolumeSnapshot',
  namespace: 'store',
  name: 'daily',
};
const toClaim: Reference = { ...toSnapshot, group: '', kind: 'PersistentVolumeClaim', name: 'origin' };
type From = NonNullable<NonNullable<ReferenceGrant['spec']>['from']>[number];
type To = NonNullable<NonNullable<ReferenceGrant['spec']>['to']>[number];
const from: From = { group: '', kind: 'PersistentVolumeClaim', namespace: 'team' };
const snapshots: To = { group, kind: 'VolumeSnapshot' };
const claims: To = { group: '', kind: 'PersistentVolumeClaim' };

function aGrant(parts: { from?: readonly From[]; to?: readonly To[]; namespace?: string } = {}): ReferenceGrant {
  return {
    metadata: { namespace: parts.namespace ?? 'store', name: 'g' },
    spec: { from: parts.from ?? [from], to: parts.to ?? [snapshots] },
  };
}

it.each([
  { given: 'a snapshot, name absent', grant: aGrant(), reference: toSnapshot },
  { given: 'a snapshot, name empty', grant: aGrant({ to: [{ ...snapshots, name: '' }] }), reference: toSnapshot },
  { given: 'a snapshot, name equal', grant: aGrant({ to: [{ ...snapshots, name: 'daily' }] }), reference: toSnapshot },
  { given: 'a claim, name absent', grant: aGrant({ to: [claims] }), reference: toClaim },
  { given: 'a claim, name equal', grant: aGrant({ to: [{ ...claims, name: 'origin' }] }), reference: toClaim },
  {
    given: 'one entry of several',
    grant: aGrant({ from: [{ ...from, namespace: 'x' }, from], to: [claims, snapshots] }),
    reference: toSnapshot,
  },
])('[provisioner#150] given a grant for $given, then it permits', ({ grant, reference }) => {
  expect(isGranted([grant], reference)).toBe(true);
});

it('[provisioner#151] given no group on either side of a grant for claims, then it is the core group', () => {
  expect(isGranted([aGrant({ to: [{ kind: 'PersistentVolumeClaim' }] })], toClaim)).toBe(true);
});

it.each([
  { given: 'no grant', grants: [] },
  { given: 'a grant in another namespace', grants: [aGrant({ namespace: 'team' })] },
  { given: 'another from.group', grants: [aGrant({ from: [{ ...from, group: 'x' }] })] },
  { given: 'another from.kind', grants: [aGrant({ from: [{ ...from, kind: 'Pod' }] })] },
  { given: 'another from.namespace', grants: [aGrant({ from: [{ ...from, namespace: 'x' }] })] },
  { given: 'another to.group', grants: [aGrant({ to: [{ ...snapshots, group: 'x' }] })] },
  { given: 'another to.kind', grants: [aGrant({ to: [{ ...snapshots, kind: 'X' }] })] },
  { given: 'another to.name', grants: [aGrant({ to: [{ ...snapshots, name: 'weekly' }] })] },
  { given: 'an empty from', grants: [aGrant({ from: [] })] },
  { given: 'an empty to', grants: [aGrant({ to: [] })] },
  { given: 'a grant without spec', grants: [{ metadata: { namespace: 'store', name: 'g' } }] },
  { given: 'from and to in two grants', grants: [aGrant({ to: [] }), aGrant({ from: [] })] },
])('[provisioner#153] given $given, then it does not permit', ({ grants }) => {
  expect(isGranted(grants, toSnapshot)).toBe(false);
});

it('[provisioner#154] given a reference to a snapshot without group, then a grant for the snapshot group does not permit it', () => {
  expect(isGranted([aGrant()], { ...toSnapshot, group: '' })).toBe(false);
});

it('[provisioner#155] given a grant for snapshots or for claims, then it does not cover the other', () => {
  expect([isGranted([aGrant()], toClaim), isGranted([aGrant({ to: [claims] })], toSnapshot)]).toEqual([false, false]);
});
