// SPDX-License-Identifier: Apache-2.0
/** One object of each kind of the snapshot API, as users and controllers leave them. */
import type { ApiObject } from './commands.ts';

type GroupVersion = 'v1' | 'v1beta2';

export function storedObjects(groupVersion: GroupVersion): readonly ApiObject[] {
  const single = 'snapshot.storage.k8s.io/v1';
  const group = `groupsnapshot.storage.k8s.io/${groupVersion}`;
  const driver = 'd.example.com';
  const metadata = { name: 'kept' };
  const inDefault = { ...metadata, namespace: 'default' };
  return [
    { apiVersion: single, kind: 'VolumeSnapshotClass', metadata, driver, deletionPolicy: 'Delete' },
    {
      apiVersion: single,
      kind: 'VolumeSnapshot',
      metadata: inDefault,
      spec: { source: { persistentVolumeClaimName: 'claim' }, volumeSnapshotClassName: 'kept' },
    },
    {
      apiVersion: single,
      kind: 'VolumeSnapshotContent',
      metadata,
      spec: { deletionPolicy: 'Delete', driver, source: { volumeHandle: 'v1' }, volumeSnapshotRef: inDefault },
    },
    { apiVersion: group, kind: 'VolumeGroupSnapshotClass', metadata, driver, deletionPolicy: 'Delete' },
    {
      apiVersion: group,
      kind: 'VolumeGroupSnapshot',
      metadata: inDefault,
      spec: { source: { selector: { matchLabels: { app: 'db' } } }, volumeGroupSnapshotClassName: 'kept' },
    },
    {
      apiVersion: group,
      kind: 'VolumeGroupSnapshotContent',
      metadata,
      spec: { deletionPolicy: 'Delete', driver, source: { volumeHandles: ['v1'] }, volumeGroupSnapshotRef: inDefault },
    },
  ];
}
