// SPDX-License-Identifier: Apache-2.0
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import {
  claimNamesOf,
  classNameOf,
  hasEnded,
  nameOf,
  objectName,
  provisionerOf,
  selectedNodeOf,
  timeOf,
} from './objects.ts';
import { compareSizes } from './quantities.ts';
import { attachmentNameOf, isForOneNode, volumeFactsOf } from './volume.ts';

const aClaim = (annotations: Readonly<Record<string, string>>, storageClassName?: string) =>
  ({ metadata: { annotations }, spec: { storageClassName } }) as unknown as PersistentVolumeClaim;

it('given a pod, when its claims are named, then those that are made for it have its name in front; other volumes have none', () => {
  const volumes = [
    { name: 'data', persistentVolumeClaim: { claimName: 'c' } },
    { name: 'scratch', ephemeral: {} },
    { name: 'tmp', emptyDir: {} },
  ];
  expect(claimNamesOf({ metadata: { name: 'web-0' }, spec: { volumes } } as unknown as Pod)).toEqual([
    'c',
    'web-0-scratch',
  ]);
  expect(claimNamesOf({})).toEqual([]);
});

it('given a claim, when its class is named, then the older annotation counts before the field, and the empty name is one', () => {
  const older = { 'volume.beta.kubernetes.io/storage-class': 'old' };
  expect([aClaim(older, 'new'), aClaim({}, 'new'), aClaim({}, ''), aClaim({})].map(classNameOf)).toEqual([
    'old',
    'new',
    '',
    undefined,
  ]);
});

it('given annotations of a claim, when read, then provisioner and node are known; an empty node is none', () => {
  const [newer, older] = ['volume.kubernetes.io', 'volume.beta.kubernetes.io'].map(
    (prefix) => `${prefix}/storage-provisioner`,
  ) as [string, string];
  expect([{ [newer]: 'a', [older]: 'b' }, { [older]: 'b' }, {}].map((each) => provisionerOf(aClaim(each)))).toEqual([
    'a',
    'b',
    undefined,
  ]);
  const node = 'volume.kubernetes.io/selected-node';
  expect([{ [node]: 'n' }, { [node]: '' }, {}].map((each) => selectedNodeOf(aClaim(each)))).toEqual([
    'n',
    undefined,
    undefined,
  ]);
});

it('given objects without metadata and texts that are no times, when read, then nothing throws', () => {
  expect([nameOf({}), objectName('Pod', {}).name]).toEqual(['', '']);
  expect([timeOf(undefined), timeOf(null), timeOf('yesterday'), timeOf('1970-01-01T00:00:01Z')]).toEqual([
    undefined,
    undefined,
    undefined,
    1_000,
  ]);
  const phases = ['Succeeded', 'Failed', 'Running', 'Pending', 'Unknown'];
  expect(phases.filter((phase) => hasEnded({ status: { phase } }))).toEqual(['Succeeded', 'Failed']);
});

it.each([
  ['1Gi', '1G', 1],
  ['1G', '1Gi', -1],
  ['1024Mi', '1Gi', 0],
  ['1Gi', 'much', 0],
  ['', '1Gi', 0],
])('given the sizes %s and %s, when compared, then the sign is %i', (left, right, sign) => {
  expect(Math.sign(compareSizes(left, right))).toBe(sign);
});

it('given the volume of an in-tree plugin, when read, then it is that of a driver only if the annotation says that it was migrated', () => {
  const disk = (annotations: object, spec: object = { awsElasticBlockStore: { volumeID: 'vol-1' } }) =>
    ({ metadata: { annotations }, spec }) as unknown as PersistentVolume;
  const migrated = { 'pv.kubernetes.io/migrated-to': 'ebs.csi.aws.com' };
  expect(volumeFactsOf(disk({}))).toBe(undefined);
  expect(volumeFactsOf(disk(migrated))).toEqual({ driver: 'ebs.csi.aws.com', handle: 'vol-1', isMigrated: true });
  expect(volumeFactsOf(disk({}, { hostPath: { path: '/x' } }))).toBe(undefined);
  expect(volumeFactsOf(disk({}, { csi: { driver: 'd', volumeHandle: 'h' } }))).toEqual({
    driver: 'd',
    handle: 'h',
    isMigrated: false,
  });
});

it('given driver, handle and node, when the attachment is named, then it has the name that kube-controller-manager gives', () => {
  const name = attachmentNameOf({ driver: 'hostpath.csi.k8s.io', handle: 'vol-1', isMigrated: false }, 'node-a');
  // printf '%s' vol-1hostpath.csi.k8s.ionode-a | sha256sum
  expect(name).toBe('csi-5a70c5de395ccad5e79daeb27c7c4f2634b675e6e1bb2a397999a016143bc9fb');
});

it.each([
  [['ReadWriteOnce'], true],
  [['ReadWriteOncePod'], true],
  [[], true],
  [['ReadWriteOnce', 'ReadWriteMany'], false],
  [['ReadOnlyMany'], false],
])(
  'given the access modes %j, when asked whether one node at most can have the volume, then: %s',
  (accessModes, isOne) => {
    expect(isForOneNode({ spec: { accessModes } })).toBe(isOne);
  },
);
