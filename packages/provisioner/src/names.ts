// SPDX-License-Identifier: Apache-2.0
/** Names that stand in API objects. Spelled as upstream spells them; only `claimGuard` is ours. */

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

/** On a claim while a volume may exist for it that no PersistentVolume records. */
export const claimGuard = 'provisioner.storage.kubernetes.io/provisioning-protection';

/** In the volume attributes: which process made the volume. */
export const identityAttribute = 'storage.kubernetes.io/csiProvisionerIdentity';

/** Class parameters that begin so are for us and never reach the driver. */
export const reservedPrefix = 'csi.storage.k8s.io/';
