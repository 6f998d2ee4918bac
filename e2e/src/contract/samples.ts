// SPDX-License-Identifier: Apache-2.0
/**
 * Objects for checks. Kinds that no controller of a real cluster touches are preferred: attachments of an attacher that does
 * not exist, classes, drivers, leases and secrets stay as they were written.
 */
import type { CSIDriver, Lease, PersistentVolume, Secret, StorageClass, VolumeAttachment } from '@csi-sidecars/runtime';
import type { ContractEnv } from './check.ts';

export const driverName = 'contract.csi.example.com';

export function anAttachment(name: string): VolumeAttachment {
  const spec = { attacher: driverName, nodeName: 'no-such-node', source: { persistentVolumeName: 'no-such-volume' } };
  return { metadata: { name }, spec };
}

export function aVolume(name: string): PersistentVolume {
  const csi = { driver: driverName, volumeHandle: name };
  return { metadata: { name }, spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], csi } };
}

export function aSecret(env: ContractEnv, name: string): Secret {
  return { metadata: { name, namespace: env.namespace } };
}

export function aLease(env: ContractEnv, name: string): Lease {
  return { metadata: { name, namespace: env.namespace }, spec: { holderIdentity: 'me', leaseDurationSeconds: 15 } };
}

export function aClass(name: string): StorageClass {
  return { metadata: { name }, provisioner: driverName };
}

export function aDriver(name: string): CSIDriver {
  return { metadata: { name }, spec: { attachRequired: true } };
}
