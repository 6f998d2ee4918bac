// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { inTreePluginOf, repairVolumeHandle, replacesPlugin } from './translate.ts';

describe('drivers that replace a plugin', () => {
  it('given a driver name, then the plugin that it replaced is returned', () => {
    const drivers = {
      'pd.csi.storage.gke.io': 'kubernetes.io/gce-pd',
      'ebs.csi.aws.com': 'kubernetes.io/aws-ebs',
      'cinder.csi.openstack.org': 'kubernetes.io/cinder',
      'disk.csi.azure.com': 'kubernetes.io/azure-disk',
      'file.csi.azure.com': 'kubernetes.io/azure-file',
      'csi.vsphere.vmware.com': 'kubernetes.io/vsphere-volume',
      'pxd.portworx.com': 'kubernetes.io/portworx-volume',
    };
    expect(Object.keys(drivers).map(inTreePluginOf)).toEqual(Object.values(drivers));
    expect([replacesPlugin('pd.csi.storage.gke.io'), replacesPlugin('hostpath.csi.k8s.io')]).toEqual([true, false]);
    expect(inTreePluginOf('hostpath.csi.k8s.io')).toBeUndefined();
    expect(inTreePluginOf('constructor')).toBeUndefined();
  });

  const repaired = (
    driver: string,
    volumeHandle: string,
    nodeId = 'projects/P/zones/us-east1-b/instances/I',
  ): string => {
    const result = repairVolumeHandle({ driver, volumeHandle }, nodeId);
    return result.kind === 'ok' ? result.value : result.message;
  };
  const disk = (where: string): string => repaired('pd.csi.storage.gke.io', `projects/UNSPECIFIED/${where}/disks/D`);

  it.each([
    { where: 'zones/us-west1-a', handle: 'projects/P/zones/us-west1-a/disks/D' },
    { where: 'zones/UNSPECIFIED', handle: 'projects/P/zones/us-east1-b/disks/D' },
    { where: 'regions/us-west1', handle: 'projects/P/regions/us-west1/disks/D' },
    { where: 'regions/UNSPECIFIED', handle: 'projects/P/regions/us-east1/disks/D' },
    { where: 'cells/1', handle: 'expected volume handle to have zones or regions regionality value, got: cells' },
  ])('given a GCE handle with $where, when repaired, then $handle', ({ where, handle }) => {
    expect(disk(where)).toBe(handle);
  });

  it('given a handle with its project, or of another driver, when repaired, then it stays', () => {
    expect(repaired('pd.csi.storage.gke.io', 'projects/Q/zones/UNSPECIFIED/disks/D', 'n')).toBe(
      'projects/Q/zones/UNSPECIFIED/disks/D',
    );
    expect(repaired('ebs.csi.aws.com', 'vol-1')).toBe('vol-1');
  });

  it('given a handle or a node id that cannot be read, when repaired, then it is refused', () => {
    expect(repaired('pd.csi.storage.gke.io', 'D')).toBe(
      'volume handle has wrong number of elements; got 1, wanted 6 or more',
    );
    expect(repaired('pd.csi.storage.gke.io', 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/D', 'node1')).toBe(
      'node handle has wrong number of elements; got 1, wanted 6 or more',
    );
    expect(
      repaired(
        'pd.csi.storage.gke.io',
        'projects/UNSPECIFIED/regions/UNSPECIFIED/disks/D',
        'projects/P/zones/z/instances/I',
      ),
    ).toBe('failed to get region from zone z: zone in unexpected format, expected: {locale}-{region}-{zone}, got: z');
    expect(repaired('other', 'v1')).toBe('could not find In-Tree driver name for CSI plugin other');
  });
});
