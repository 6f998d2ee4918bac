// SPDX-License-Identifier: Apache-2.0
/** Names in API objects, in upstream's spelling; only the provisioning finalizers are ours. */
import { isDnsSubdomain, snapshotFinalizers } from '@csi-sidecars/volume';

export const annotations = {
  storageProvisioner: 'volume.kubernetes.io/storage-provisioner',
  betaStorageProvisioner: 'volume.beta.kubernetes.io/storage-provisioner',
  migratedTo: 'pv.kubernetes.io/migrated-to',
  betaStorageClass: 'volume.beta.kubernetes.io/storage-class',
  selectedNode: 'volume.kubernetes.io/selected-node',
  alphaSelectedNode: 'volume.alpha.kubernetes.io/selected-node',
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
  deletionSecretName: 'volume.kubernetes.io/provisioner-deletion-secret-name',
  deletionSecretNamespace: 'volume.kubernetes.io/provisioner-deletion-secret-namespace',
  modifySecretName: 'volume.kubernetes.io/controller-modify-secret-name',
  modifySecretNamespace: 'volume.kubernetes.io/controller-modify-secret-namespace',
} as const;

export function lockNameOf(driverName: string): string {
  return driverName.replaceAll('/', '-');
}

/** On a PersistentVolume from its first write until its volume is deleted. */
export const volumeFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer';

/** On a claim while a volume of this driver may exist for it that no PersistentVolume records. */
export function provisioningFinalizer(driverName: string): string {
  return `provisioning-protection.provisioner.storage.kubernetes.io/${driverName}`;
}

/** On a claim with that finalizer, in node deployment: the node whose instance settles the claim. */
export function instanceAnnotation(driverName: string): string {
  return provisioningFinalizer(driverName);
}

/** The finalizer of version 0.1, which was the same for every driver. */
export const unnamedProvisioningFinalizer = 'provisioner.storage.kubernetes.io/provisioning-protection';

/** Undefined: it is no provisioning finalizer. Empty: it is one that names no driver. */
export function driverOfProvisioningFinalizer(finalizer: string): string | undefined {
  if (finalizer === unnamedProvisioningFinalizer) return '';
  const prefix = provisioningFinalizer('');
  return finalizer.startsWith(prefix) ? finalizer.slice(prefix.length) : undefined;
}

/** On a claim that is the source of a clone, from before CreateVolume until no pending claim needs it. */
export const cloningProtection = 'provisioner.storage.kubernetes.io/cloning-protection';

/** On a snapshot that is the source of a volume. */
export const snapshotSourceProtection: string = snapshotFinalizers.restored;

/**
 * Why the API server would refuse finalizers and PersistentVolumes of this driver; undefined if it accepts them. Its rule for
 * `spec.csi.driver` is narrower than its rule for finalizers, so a driver whose volumes can be recorded has a valid finalizer.
 */
export function refusedDriverName(driverName: string): string | undefined {
  const isUsable = driverName.length <= 63 && isDnsSubdomain(driverName.toLowerCase());
  return isUsable
    ? undefined
    : `CSI driver name ${JSON.stringify(driverName)} is not a DNS subdomain of at most 63 characters: no PersistentVolume can name it`;
}

/** Key in the volume attributes: which process created the volume. */
export const identityAttribute = 'storage.kubernetes.io/csiProvisionerIdentity';

/** Class parameters with this prefix are for us and never reach the driver. */
export const reservedPrefix = 'csi.storage.k8s.io/';
