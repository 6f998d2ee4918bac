// SPDX-License-Identifier: Apache-2.0
/** OpenStack's block storage. */
import { ok } from '../result.ts';
import { nonZero, withCsiFsType } from './parameters.ts';
import type { InTreeProvider } from './provider.ts';

const zoneKey = 'topology.cinder.csi.openstack.org/zone';

export const cinder: InTreeProvider<'cinder'> = {
  driver: 'cinder.csi.openstack.org',
  plugin: 'kubernetes.io/cinder',
  toCsi: ({ volumeID, readOnly = false, fsType = '' }) =>
    ok({ volumeHandle: volumeID, readOnly, fsType, volumeAttributes: {} }),
  toInTree: ({ volumeHandle, readOnly = false, fsType = '' }) =>
    ok({ source: { volumeID: volumeHandle, ...nonZero({ fsType, readOnly }) } }),
  identityOf: ({ volumeID }) => volumeID,
  // The driver understands `availability`, which is therefore no topology.
  storageClass: { zoneKey, toParameters: withCsiFsType },
  // Zones do not name their region.
  topology: { zoneKey },
};
