// SPDX-License-Identifier: Apache-2.0
/** Names that stand in API objects and requests, spelled as upstream spells them. */
export function lockNameOf(driverName: string): string {
  return `external-resizer-${driverName}`;
}

export const annotations = {
  /** On a claim: the driver that resizes a volume of an in-tree plugin. Written by kube-controller-manager. */
  storageResizer: 'volume.kubernetes.io/storage-resizer',
  /** On a claim: kubelet must not expand the file system, although the PersistentVolume has grown. */
  nodeExpansionNotRequired: 'volume.kubernetes.io/node-expansion-not-required',
  /** On a PersistentVolume: the size of the claim before an expansion that the node has not finished. */
  preResizeCapacity: 'volume.alpha.kubernetes.io/pre-resize-capacity',
  modifySecretName: 'volume.kubernetes.io/controller-modify-secret-name',
  modifySecretNamespace: 'volume.kubernetes.io/controller-modify-secret-namespace',
} as const;

/** Sent with `--extra-modify-metadata`. */
export const metadataKeys = {
  claimName: 'csi.storage.k8s.io/pvc/name',
  claimNamespace: 'csi.storage.k8s.io/pvc/namespace',
  volumeName: 'csi.storage.k8s.io/pv/name',
} as const;
