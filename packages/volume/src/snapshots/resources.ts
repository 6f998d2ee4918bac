// SPDX-License-Identifier: Apache-2.0
/** Where the kinds of the snapshot API live. They are custom resources: no strategic merge patches. */
import type { Resource } from '@csi-sidecars/runtime';
import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from './objects.ts';

const snapshotApi = { group: 'snapshot.storage.k8s.io', version: 'v1' };
const groupSnapshotApi = { group: 'groupsnapshot.storage.k8s.io', version: 'v1' };

export const volumeSnapshots: Resource<VolumeSnapshot> = {
  ...snapshotApi,
  plural: 'volumesnapshots',
  kind: 'VolumeSnapshot',
  namespaced: true,
};
export const volumeSnapshotContents: Resource<VolumeSnapshotContent> = {
  ...snapshotApi,
  plural: 'volumesnapshotcontents',
  kind: 'VolumeSnapshotContent',
  namespaced: false,
};
export const volumeSnapshotClasses: Resource<VolumeSnapshotClass> = {
  ...snapshotApi,
  plural: 'volumesnapshotclasses',
  kind: 'VolumeSnapshotClass',
  namespaced: false,
};
export const volumeGroupSnapshots: Resource<VolumeGroupSnapshot> = {
  ...groupSnapshotApi,
  plural: 'volumegroupsnapshots',
  kind: 'VolumeGroupSnapshot',
  namespaced: true,
};
export const volumeGroupSnapshotContents: Resource<VolumeGroupSnapshotContent> = {
  ...groupSnapshotApi,
  plural: 'volumegroupsnapshotcontents',
  kind: 'VolumeGroupSnapshotContent',
  namespaced: false,
};
export const volumeGroupSnapshotClasses: Resource<VolumeGroupSnapshotClass> = {
  ...groupSnapshotApi,
  plural: 'volumegroupsnapshotclasses',
  kind: 'VolumeGroupSnapshotClass',
  namespaced: false,
};
