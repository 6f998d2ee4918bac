// SPDX-License-Identifier: Apache-2.0
/** AWS elastic block stores. The plugin knew volumes as `aws://zone/vol-1`, `aws:///vol-1` or `vol-1`; the driver, as `vol-1`. */
import { ok, refuse, type Result } from '../result.ts';
import type { InTreeProvider } from './provider.ts';

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
};

function toVolumeHandle(volumeId: string): Result<string> {
  if (!volumeId.startsWith('aws://')) return ok(volumeId);
  const url = URL.parse(volumeId);
  if (url === null) return refuse(`Invalid disk name (${volumeId}): not a URL`);
  const id = url.pathname.replace(/^\/+|\/+$/g, '');
  return /^vol-[^/]*$/.test(id) ? ok(id) : refuse(`Invalid format for AWS volume (${volumeId})`);
}
