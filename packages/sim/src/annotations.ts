// SPDX-License-Identifier: Apache-2.0
/** Names that the core controllers, the scheduler and the sidecars agree on. */
export const bindCompleted = 'pv.kubernetes.io/bind-completed';
export const boundByController = 'pv.kubernetes.io/bound-by-controller';
export const provisionedBy = 'pv.kubernetes.io/provisioned-by';
export const storageProvisioner = 'volume.kubernetes.io/storage-provisioner';
export const betaStorageProvisioner = 'volume.beta.kubernetes.io/storage-provisioner';
export const selectedNode = 'volume.kubernetes.io/selected-node';
export const defaultClass = 'storageclass.kubernetes.io/is-default-class';
export const managedAttach = 'volumes.kubernetes.io/controller-managed-attach-detach';
export const csiNodeId = 'csi.volume.kubernetes.io/nodeid';

export const volumeProtection = 'kubernetes.io/pv-protection';
export const claimProtection = 'kubernetes.io/pvc-protection';

export const outOfServiceTaint = 'node.kubernetes.io/out-of-service';
