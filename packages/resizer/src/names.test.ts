// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { annotations, metadataKeys } from './names.ts';

it('given the names that users and drivers see, then they are spelled as in upstream', () => {
  expect(annotations).toEqual({
    storageResizer: 'volume.kubernetes.io/storage-resizer',
    nodeExpansionNotRequired: 'volume.kubernetes.io/node-expansion-not-required',
    preResizeCapacity: 'volume.alpha.kubernetes.io/pre-resize-capacity',
    modifySecretName: 'volume.kubernetes.io/controller-modify-secret-name',
    modifySecretNamespace: 'volume.kubernetes.io/controller-modify-secret-namespace',
  });
  expect(metadataKeys).toEqual({
    claimName: 'csi.storage.k8s.io/pvc/name',
    claimNamespace: 'csi.storage.k8s.io/pvc/namespace',
    volumeName: 'csi.storage.k8s.io/pv/name',
  });
});
