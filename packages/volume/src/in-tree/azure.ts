// SPDX-License-Identifier: Apache-2.0
/** Azure disks and file shares. */
import { ok, refuse, type Result } from '../result.ts';
import { nonZero } from './parameters.ts';
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
  toInTree: ({ volumeHandle, volumeAttributes = {}, readOnly = false, fsType = '' }) => {
    const diskName = diskNameOf(volumeHandle);
    if (diskName.kind === 'error') return diskName;
    const given = lowerCased(volumeAttributes);
    return ok({
      source: {
        diskName: diskName.value,
        diskURI: volumeHandle,
        // Empty and false are written: without them the API server would put its own defaults there.
        fsType: given['fstype'] || fsType,
        readOnly,
        kind: managed,
        ...(given['cachingmode'] ? { cachingMode: given['cachingmode'] } : {}),
      },
    });
  },
  identityOf: ({ diskURI }) => diskURI,
  storageClass: {
    zoneKey: 'topology.disk.csi.azure.com/zone',
    zoneParameters: 'translated',
    // In a region without zones nodes have the fault domains `0`, `1` and so on as zones, and the driver calls them all empty.
    toAllowedZone: (zone) => (/^[0-9]+$/.test(zone) ? '' : zone),
  },
};

const managedPath = '.*/subscriptions/(?:.*)/resourceGroups/(?:.*)/providers/Microsoft.Compute/disks/(.+)';
const blobPath = 'http(?:.*)://(?:.*)/vhds/(.+)';

function diskNameOf(diskUri: string): Result<string> {
  const isBlob = /^http./is.test(diskUri);
  const name = isBlob
    ? afterLast('/vhds/', diskUri, ['http', '://'])
    : afterLast('/providers/Microsoft.Compute/disks/', diskUri, ['/subscriptions/', '/resourceGroups/']);
  const format = isBlob ? blobPath : managedPath;
  return name === '' ? refuse(`could not get disk name from ${diskUri}, correct format: ${format}`) : ok(name);
}

/**
 * What follows the last occurrence of the mark, before which the other parts occur in this order; empty if one is missing. Upstream's
 * expressions need cubic time.
 */
function afterLast(mark: string, text: string, parts: readonly string[]): string {
  const end = text.lastIndexOf(mark, text.length - mark.length - 1);
  let from = 0;
  for (const part of parts) {
    const at = text.indexOf(part, from);
    if (at < 0) return '';
    from = at + part.length;
  }
  return end < from ? '' : text.slice(end + mark.length);
}

const resourceGroupAnnotation = 'kubernetes.io/azure-file-resource-group';

export const azureFile: InTreeProvider<'azureFile'> = {
  driver: 'file.csi.azure.com',
  plugin: 'kubernetes.io/azure-file',
  toCsi: ({ secretName, secretNamespace, shareName, readOnly = false }, { metadata, spec }) => {
    const namespace = secretNamespace ?? spec?.claimRef?.namespace ?? '';
    if (namespace === '') return refuse('could not find a secret namespace in PersistentVolumeSource or ClaimRef');
    const resourceGroup = metadata?.annotations?.[resourceGroupAnnotation];
    const account = /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
    return ok({
      volumeHandle: [resourceGroup, account, shareName, metadata?.name, namespace].join('#'),
      readOnly,
      volumeAttributes: { sharename: shareName },
    });
  },
  toInTree: ({ volumeHandle, volumeAttributes = {}, nodeStageSecretRef, readOnly = false }) => {
    const given = lowerCased(volumeAttributes);
    const secret = nodeStageSecretRef?.name ? nodeStageSecretRef : undefined;
    const named = {
      shareName: given['sharename'] ?? '',
      secretName: secret?.name ?? given['secretname'] ?? '',
      secretNamespace: (secret === undefined ? given['secretnamespace'] : (secret.namespace ?? '')) ?? 'default',
    };
    if (named.shareName !== '' && named.secretName !== '')
      return ok({ source: { ...named, ...nonZero({ readOnly }) } });
    const parts = volumeHandle.split('#');
    const [resourceGroup = '', account = '', share] = parts;
    if (share === undefined) {
      return refuse(`error parsing volume id: ${JSON.stringify(volumeHandle)}, should at least contain two #`);
    }
    const shareName = named.shareName || share;
    if (shareName === '') return refuse(`volume id ${JSON.stringify(volumeHandle)} names no share`);
    const secretName = named.secretName || `azure-storage-account-${account}-secret`;
    return ok({
      source: { ...named, shareName, secretName, ...nonZero({ readOnly }) },
      ...(resourceGroup === '' ? {} : { annotations: { [resourceGroupAnnotation]: resourceGroup } }),
    });
  },
  identityOf: ({ secretName, shareName }) => `${secretName}#${shareName}`,
  storageClass: {},
};

function lowerCased(attributes: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key.toLowerCase(), value]));
}
