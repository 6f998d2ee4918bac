// SPDX-License-Identifier: Apache-2.0
/** AWS elastic block stores. The plugin knew volumes as `aws://zone/vol-1`, `aws:///vol-1` or `vol-1`; the driver, as `vol-1`. */
import { ok, refuse, type Result } from '../result.ts';
import { nonZero, toPartition, withCsiFsType } from './parameters.ts';
import type { InTreeProvider } from './provider.ts';
import { regionOf } from './regions.ts';

const zoneKey = 'topology.ebs.csi.aws.com/zone';

export const awsElasticBlockStore: InTreeProvider<'awsElasticBlockStore'> = {
  driver: 'ebs.csi.aws.com',
  plugin: 'kubernetes.io/aws-ebs',
  toCsi: ({ volumeID, partition = 0, readOnly = false, fsType = '' }) => {
    const volumeHandle = toVolumeHandle(volumeID);
    if (volumeHandle.kind === 'error') {
      return refuse(`failed to translate Kubernetes ID to EBS Volume ID ${volumeHandle.message}`);
    }
    return ok({
      volumeHandle: volumeHandle.value,
      readOnly,
      fsType,
      volumeAttributes: { partition: String(partition) },
    });
  },
  toInTree: ({ volumeHandle, volumeAttributes = {}, readOnly = false, fsType = '' }) => {
    const text = volumeAttributes['partition'];
    const partition = text === undefined ? ok(0) : toPartition(text, 'failed');
    if (partition.kind === 'error') return partition;
    return ok({ source: { volumeID: volumeHandle, ...nonZero({ fsType, readOnly, partition: partition.value }) } });
  },
  identityOf: ({ volumeID }) => volumeID,
  storageClass: {
    zoneKey,
    zoneParameters: 'translated',
    // The plugin raised IOPS that were too low for the size of the volume, and the driver does so only on request.
    toParameters: (parameter) =>
      parameter.name === 'iopspergb'
        ? { [parameter.key]: parameter.value, allowautoiopspergbincrease: 'true' }
        : withCsiFsType(parameter),
  },
  topology: { zoneKey, toRegion: (zones) => regionOf(zones, toRegion) },
};

function toVolumeHandle(volumeId: string): Result<string> {
  if (!volumeId.startsWith('aws://')) return ok(volumeId);
  if (!URL.canParse(volumeId)) return refuse(`Invalid disk name (${volumeId}): not a URL`);
  // Not `URL.pathname`: it resolves dots and keeps escapes. Go's parser does the opposite.
  const path = volumeId.replace(/^aws:\/\/[^/?#]*([^?#]*).*$/s, '$1');
  const id = unescaped(path)?.replace(/^\/+|\/+$/g, '');
  if (id === undefined) return refuse(`Invalid disk name (${volumeId}): invalid URL escape`);
  return /^vol-[^/]*$/.test(id) ? ok(id) : refuse(`Invalid format for AWS volume (${volumeId})`);
}

function unescaped(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** `us-west-2a`, `us-gov-east-1a`, a local zone `us-west-2-lax-1a`, a wavelength zone `us-east-1-wl1-bos-wlz-1`. */
function toRegion(zone: string): Result<string> {
  const parts = zone.split('-');
  const last = zone.slice(zone.lastIndexOf('-') + 1);
  if ((parts.length === 3 || parts.length === 4) && last.length === 2) {
    return ok([...parts.slice(0, -1), last.slice(0, 1)].join('-'));
  }
  if (parts.length === 5 || parts.length === 7) return ok(parts.slice(0, 3).join('-'));
  return refuse(`Unexpected zone format: ${zone} is not a valid AWS zone`);
}
