// SPDX-License-Identifier: Apache-2.0
/** vSphere disks. The plugin knew a disk by its path, which the driver reports in an attribute if the class asks for it. */
import { ok, refuse } from '../result.ts';
import { nonZero, withCsiFsType } from './parameters.ts';
import type { InTreeProvider } from './provider.ts';

const zoneKey = 'topology.csi.vmware.com/zone';
const pathAttribute = 'initialvolumefilepath';
/** The driver knows them by these names with a suffix; it gets no other parameters. */
const renamed: ReadonlySet<string> = new Set([
  'datastore',
  'diskformat',
  'hostfailurestotolerate',
  'forceprovisioning',
  'cachereservation',
  'diskstripes',
  'objectspacereservation',
  'iopslimit',
]);

export const vsphereVolume: InTreeProvider<'vsphereVolume'> = {
  driver: 'csi.vsphere.vmware.com',
  plugin: 'kubernetes.io/vsphere-volume',
  toCsi: ({ volumePath, fsType = '', storagePolicyName = '' }) =>
    ok({
      volumeHandle: volumePath,
      fsType,
      volumeAttributes: storagePolicyName === '' ? {} : { storagepolicyname: storagePolicyName },
    }),
  toInTree: ({ volumeAttributes = {}, fsType = '' }) => {
    const volumePath = volumeAttributes[pathAttribute] ?? '';
    // The API server would refuse the record, whatever is tried.
    if (volumePath === '') return refuse(`the volume has no attribute ${pathAttribute}`);
    return ok({ source: { volumePath, ...nonZero({ fsType }) } });
  },
  identityOf: ({ volumePath }) => volumePath,
  storageClass: {
    zoneKey,
    toParameters: (parameter) => {
      const { name, value } = parameter;
      if (name === 'fstype') return withCsiFsType(parameter);
      if (name === 'storagepolicyname') return { [name]: value };
      return renamed.has(name) ? { [`${name}-migrationparam`]: value } : {};
    },
    added: { csimigration: 'true' },
  },
  topology: { zoneKey, regionKey: 'topology.csi.vmware.com/region' },
};
