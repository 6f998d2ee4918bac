// SPDX-License-Identifier: Apache-2.0
/** The in-tree plugins that a CSI driver replaced, by their field of a PersistentVolume. */
import { ok } from '../result.ts';
import { awsElasticBlockStore } from './aws.ts';
import { azureDisk, azureFile } from './azure.ts';
import { gcePersistentDisk } from './gce.ts';
import type { CsiSource, InTreeField, InTreeProvider } from './provider.ts';

export const providers: { readonly [F in InTreeField]: InTreeProvider<F> } = {
  gcePersistentDisk,
  awsElasticBlockStore,
  cinder: {
    driver: 'cinder.csi.openstack.org',
    plugin: 'kubernetes.io/cinder',
    toCsi: ({ volumeID, readOnly = false, fsType = '' }) =>
      ok({ volumeHandle: volumeID, readOnly, fsType, volumeAttributes: {} }),
  },
  azureDisk,
  azureFile,
  vsphereVolume: {
    driver: 'csi.vsphere.vmware.com',
    plugin: 'kubernetes.io/vsphere-volume',
    toCsi: ({ volumePath, fsType = '', storagePolicyName = '' }) =>
      ok({
        volumeHandle: volumePath,
        fsType,
        volumeAttributes: storagePolicyName === '' ? {} : { storagepolicyname: storagePolicyName },
      }),
  },
  portworxVolume: {
    driver: 'pxd.portworx.com',
    plugin: 'kubernetes.io/portworx-volume',
    toCsi: ({ volumeID, fsType = '' }, { metadata }) =>
      ok({ volumeHandle: volumeID, fsType, volumeAttributes: {}, ...portworxSecret(metadata?.annotations ?? {}) }),
  },
};

type PortworxSecret = Pick<CsiSource, 'controllerPublishSecretRef' | 'controllerExpandSecretRef'>;

/** Portworx authorises every call by a secret named in annotations, and only if both exist. */
function portworxSecret(annotations: Readonly<Record<string, string>>): PortworxSecret {
  const name = annotations['openstorage.io/auth-secret-name'];
  const namespace = annotations['openstorage.io/auth-secret-namespace'];
  if (name === undefined || namespace === undefined) return {};
  return { controllerPublishSecretRef: { name, namespace }, controllerExpandSecretRef: { name, namespace } };
}
