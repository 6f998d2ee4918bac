// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { inOrder, isAttacherOf, knownFinalizer } from './finalizers.ts';

it.each([
  ['kubernetes.io/pvc-protection', 'pvcProtection', 'kube-controller-manager'],
  ['kubernetes.io/pv-protection', 'pvProtection', 'kube-controller-manager'],
  ['kubernetes.io/pv-controller', 'inTreeVolume', 'kube-controller-manager'],
  ['external-provisioner.volume.kubernetes.io/finalizer', 'volume', 'csi-provisioner'],
  ['external-attacher/a-example-com', 'attacher', 'csi-attacher'],
  ['provisioning-protection.provisioner.storage.kubernetes.io/a.example.com', 'provisioning', 'csi-provisioner'],
  ['provisioner.storage.kubernetes.io/cloning-protection', 'source', 'csi-provisioner'],
  ['provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection', 'source', 'csi-provisioner'],
  ['snapshot.storage.kubernetes.io/pvc-as-source-protection', 'snapshotSource', 'snapshot-controller'],
  ['snapshot.storage.kubernetes.io/volumesnapshot-bound-protection', 'snapshot', 'snapshot-controller'],
  ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection', 'content', 'csi-snapshotter'],
  ['foregroundDeletion', 'garbage', 'kube-controller-manager'],
  ['orphan', 'garbage', 'kube-controller-manager'],
])('given the finalizer %s, when looked up, then its kind is %s, and its owner %s', (name, kind, owner) => {
  expect(knownFinalizer(name)).toEqual({ name, kind, owner });
});

it.each([
  ['foo.io/keep', 'foo.io'],
  ['constructor', 'constructor'],
  ['kubernetes.io/pvc-protection-2', 'kubernetes.io'],
])('given the foreign finalizer %s, when looked up, then its owner is guessed as %s', (name, guess) => {
  expect(knownFinalizer(name)).toEqual({ name, kind: 'foreign', owner: 'other', guess });
});

it('given all kinds of finalizers in any order, when ordered, then they stand as they are waited for', () => {
  const waited = [
    'kubernetes.io/pvc-protection',
    'snapshot.storage.kubernetes.io/pvc-as-source-protection',
    'provisioner.storage.kubernetes.io/cloning-protection',
    'provisioning-protection.provisioner.storage.kubernetes.io/a.example.com',
    'kubernetes.io/pv-protection',
    'foo.io/keep',
    'external-provisioner.volume.kubernetes.io/finalizer',
    'external-attacher/a-example-com',
    'kubernetes.io/pv-controller',
    'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection',
    'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection',
    'orphan',
  ];
  expect(inOrder(waited.toReversed()).map(({ name }) => name)).toEqual(waited);
});

it('given the finalizer of an attacher, when asked whose it is, then it is that of each driver whose name becomes it', () => {
  const drivers = ['a.example.com', 'a-example.com', 'b.example.com', 'external-attacher/a-example-com'];
  expect(drivers.filter((driver) => isAttacherOf('external-attacher/a-example-com', driver))).toEqual([
    'a.example.com',
    'a-example.com',
  ]);
});
