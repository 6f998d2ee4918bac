// SPDX-License-Identifier: Apache-2.0
/** Builders of the objects that scenarios create, complete by default. */
import type {
  CSIDriver,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';

type Parts<T> = Partial<T>;

export function aStorageClass(name: string, provisioner: string, parts: Parts<StorageClass> = {}): StorageClass {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner,
    volumeBindingMode: 'Immediate',
    ...parts,
  };
}

export function aClaim(
  name: string,
  storageClassName: string,
  spec: Parts<NonNullable<PersistentVolumeClaim['spec']>> = {},
): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName,
      resources: { requests: { storage: '1Gi' } },
      ...spec,
    },
  };
}

type VolumeSpec = NonNullable<PersistentVolume['spec']>;

/** A PersistentVolume created by hand, for a volume of the storage that outlives it. */
export function aVolume(
  name: string,
  csi: NonNullable<VolumeSpec['csi']>,
  spec: Parts<VolumeSpec> = {},
): PersistentVolume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      ...spec,
      csi,
    },
  };
}

export interface WantedAttachment {
  readonly attacher: string;
  readonly volumeName: string;
  readonly nodeName: string;
}

/** An attachment as the attach/detach controller creates it. */
export function anAttachment(name: string, { attacher, volumeName, nodeName }: WantedAttachment): VolumeAttachment {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher, nodeName, source: { persistentVolumeName: volumeName } },
  };
}

/** A pod that only has to be scheduled: only its claim matters. */
export function aSnapshot(name: string, spec: NonNullable<VolumeSnapshot['spec']>): VolumeSnapshot {
  return { apiVersion: 'snapshot.storage.k8s.io/v1', kind: 'VolumeSnapshot', metadata: { name }, spec };
}

export function aPod(name: string, claimName: string, spec: Parts<NonNullable<Pod['spec']>> = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      containers: [{ name: 'main', image: 'none', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
      terminationGracePeriodSeconds: 0,
      ...spec,
    },
  };
}

/** By default volumes of the driver are mounted without being attached first. */
export function aCsiDriver(name: string, spec: Parts<CSIDriver['spec']> = {}): CSIDriver {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name },
    spec: { attachRequired: false, ...spec },
  };
}
