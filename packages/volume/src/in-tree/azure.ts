// SPDX-License-Identifier: Apache-2.0
/** Azure disks and file shares. */
import { ok, refuse } from '../result.ts';
import type { InTreeProvider } from './provider.ts';

const managed = 'Managed';

export const azureDisk: InTreeProvider<'azureDisk'> = {
  driver: 'disk.csi.azure.com',
  plugin: 'kubernetes.io/azure-disk',
  toCsi: ({ diskURI, kind = managed, cachingMode, fsType, readOnly = false }) => {
    if (kind.toLowerCase() !== managed.toLowerCase()) return refuse(`kind(${kind}) is not supported in csi migration`);
    return ok({
      volumeHandle: diskURI,
      readOnly,
      fsType: fsType ?? '',
      volumeAttributes: {
        kind: managed,
        ...(cachingMode === undefined ? {} : { cachingmode: cachingMode }),
        ...(fsType === undefined ? {} : { fstype: fsType }),
      },
    });
  },
};

const resourceGroupAnnotation = 'kubernetes.io/azure-file-resource-group';

export const azureFile: InTreeProvider<'azureFile'> = {
  driver: 'file.csi.azure.com',
  plugin: 'kubernetes.io/azure-file',
  toCsi: ({ secretName, secretNamespace, shareName, readOnly = false }, { metadata, spec }) => {
    const namespace = secretNamespace ?? spec?.claimRef?.namespace ?? '';
    if (namespace === '') return refuse('could not find a secret namespace in PersistentVolumeSource or ClaimRef');
    const resourceGroup = metadata?.annotations?.[resourceGroupAnnotation] ?? '';
    const account = /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
    return ok({
      volumeHandle: [resourceGroup, account, shareName, metadata?.name ?? '', namespace].join('#'),
      readOnly,
      volumeAttributes: { sharename: shareName },
    });
  },
};
