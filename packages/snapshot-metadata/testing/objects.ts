// SPDX-License-Identifier: Apache-2.0
/** The objects of one snapshot, ready and bound, so that a test names only what it is about. */
import { driverName } from '@csi-sidecars/csi/testing';
import type { KubeObject, Secret } from '@csi-sidecars/runtime';
import type { ResourceType } from '@csi-sidecars/runtime/testing';
import { snapshotTypes } from '@csi-sidecars/volume/testing';
import type { VolumeSnapshot, VolumeSnapshotClass, VolumeSnapshotContent } from '@csi-sidecars/volume';
import { type SnapshotMetadataService, snapshotMetadataServices } from '../src/request/reviews.ts';

export const audience = 'backup';
export const namespace = 'team';
export const handle = 'handle-1';
const snapshotApi = 'snapshot.storage.k8s.io/v1';

export const types: readonly ResourceType[] = [
  ...snapshotTypes,
  { ...snapshotMetadataServices, status: 'absent', custom: true },
];

export function aService(spec: SnapshotMetadataService['spec'] = { audience }): SnapshotMetadataService {
  return {
    apiVersion: 'cbt.storage.k8s.io/v1beta1',
    kind: 'SnapshotMetadataService',
    metadata: { name: driverName },
    spec: { address: 'localhost:50051', caCert: '', ...spec },
  };
}

export function aSnapshot(given: Partial<VolumeSnapshot> = {}): VolumeSnapshot {
  return {
    apiVersion: snapshotApi,
    kind: 'VolumeSnapshot',
    metadata: { name: 'snap', namespace, uid: 'uid-of-snap' },
    spec: { source: { persistentVolumeClaimName: 'claim' }, volumeSnapshotClassName: 'gold' },
    status: { readyToUse: true, boundVolumeSnapshotContentName: 'content' },
    ...given,
  };
}

export function aContent(given: Partial<VolumeSnapshotContent> = {}): VolumeSnapshotContent {
  return {
    apiVersion: snapshotApi,
    kind: 'VolumeSnapshotContent',
    metadata: { name: 'content' },
    spec: {
      deletionPolicy: 'Delete',
      driver: driverName,
      source: { volumeHandle: 'volume-1' },
      volumeSnapshotRef: { name: 'snap', namespace, uid: 'uid-of-snap' },
    },
    status: { readyToUse: true, snapshotHandle: handle },
    ...given,
  };
}

export function aClass(given: Partial<VolumeSnapshotClass> = {}): VolumeSnapshotClass {
  return {
    apiVersion: snapshotApi,
    kind: 'VolumeSnapshotClass',
    metadata: { name: 'gold' },
    driver: driverName,
    deletionPolicy: 'Delete',
    ...given,
  };
}

export const isDefault = { 'snapshot.storage.kubernetes.io/is-default-class': 'true' };

export const secretParameters = {
  'csi.storage.k8s.io/snapshotter-secret-name': 'credentials',
  'csi.storage.k8s.io/snapshotter-secret-namespace': 'kube-system',
};

export function aSecret(data: Readonly<Record<string, string>> = { user: 'admin' }): Secret {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'credentials', namespace: 'kube-system' },
    data: Object.fromEntries(encoded) as Readonly<Record<string, string>>,
  };
}

export function allObjects(): readonly KubeObject[] {
  return [aService(), aSnapshot(), aContent(), aClass()];
}
