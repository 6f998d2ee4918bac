// SPDX-License-Identifier: Apache-2.0
/** What upstream's library leaves open: records that the API server would refuse, and what identifies a volume. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import type { CsiSource, PersistentVolumeSpec } from './provider.ts';
import { isSameVolume, mayRecord, toDriverClass, toInTreeVolume } from './translate.ts';

const made = (csi: CsiSource): PersistentVolume => ({ metadata: { name: 'pv1' }, spec: { csi } });
const record = (spec: PersistentVolumeSpec, labels: Record<string, string> = {}): PersistentVolume => ({
  metadata: { name: 'pv1', labels },
  spec,
});
const zone = 'topology.kubernetes.io/zone';
const gce = 'pd.csi.storage.gke.io';

describe('the record of a volume that the driver made', () => {
  it.each([
    { driver: 'csi.vsphere.vmware.com', volumeHandle: 'id', says: 'no attribute initialvolumefilepath' },
    { driver: gce, volumeHandle: 'projects/p/zones/z/disks/', says: 'names no disk' },
    { driver: 'file.csi.azure.com', volumeHandle: 'rg#acc#', says: 'names no share' },
  ])(
    '[provisioner#I3] given $driver and $volumeHandle, then it is refused: its field would be empty',
    ({ says, ...csi }) => {
      expect(toInTreeVolume(made(csi))).toMatchObject({ kind: 'error', message: expect.stringContaining(says) });
    },
  );

  const partitioned = (partition: string): CsiSource => ({
    driver: gce,
    volumeHandle: 'projects/p/zones/z/disks/d',
    volumeAttributes: { partition },
  });
  it.each(['2147483647', '-2147483647'])('given the partition %s, which has 32 bits, then it is kept', (partition) => {
    expect(toInTreeVolume(made(partitioned(partition)))).toMatchObject({
      kind: 'ok',
      value: { spec: { gcePersistentDisk: { pdName: 'd', partition: Number(partition) } } },
    });
  });

  it.each(['2147483648', '-2147483648', '4294967296'])(
    'given the partition %s, which the API cannot hold, then it is refused',
    (partition) => {
      const why = `strconv.Atoi: parsing "${partition}": value out of range`;
      expect(toInTreeVolume(made(partitioned(partition)))).toEqual({
        kind: 'error',
        message: `Failed to convert partition ${partition} to integer: ${why}`,
      });
    },
  );

  it.each<{ csi: CsiSource; spec: PersistentVolumeSpec }>([
    {
      csi: { driver: 'pxd.portworx.com', volumeHandle: '42' },
      spec: { portworxVolume: { volumeID: '42' } },
    },
    {
      csi: { driver: 'file.csi.azure.com', volumeHandle: 'rg#acc#s', readOnly: true },
      spec: {
        azureFile: {
          shareName: 's',
          secretName: 'azure-storage-account-acc-secret',
          secretNamespace: 'default',
          readOnly: true,
        },
      },
    },
    {
      csi: {
        driver: 'file.csi.azure.com',
        volumeHandle: 'rg#acc#s',
        nodeStageSecretRef: { name: '', namespace: 'unused' },
        volumeAttributes: { shareName: 'share', secretName: 'secret', secretNamespace: 'ns' },
      },
      spec: { azureFile: { shareName: 'share', secretName: 'secret', secretNamespace: 'ns' } },
    },
    {
      csi: {
        driver: 'file.csi.azure.com',
        volumeHandle: 'rg#acc#s',
        nodeStageSecretRef: { name: 'secret' },
        volumeAttributes: { shareName: 'share', secretNamespace: 'ns' },
      },
      spec: { azureFile: { shareName: 'share', secretName: 'secret', secretNamespace: '' } },
    },
    {
      csi: { driver: 'disk.csi.azure.com', volumeHandle: 'http:///vhds/d' },
      spec: { azureDisk: { diskName: 'd', diskURI: 'http:///vhds/d', fsType: '', readOnly: false, kind: 'Managed' } },
    },
  ])('given $csi, then its source is $spec', ({ csi, spec }) => {
    expect(toInTreeVolume(made(csi))).toMatchObject({ kind: 'ok', value: { spec } });
  });

  it('given a driver without topology, then the volume gets its source, and no field that is empty', () => {
    const volume = { metadata: { name: 'pv1' }, spec: { csi: { driver: 'pxd.portworx.com', volumeHandle: '42' } } };
    expect(toInTreeVolume(volume)).toStrictEqual({
      kind: 'ok',
      value: { metadata: { name: 'pv1' }, spec: { portworxVolume: { volumeID: '42' } } },
    });
  });

  it('given a driver without topology, then labels and affinity of the volume stay', () => {
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions: [] }] } };
    const csi = { driver: 'pxd.portworx.com', volumeHandle: '42' };
    const volume = { metadata: { name: 'pv1', labels: { team: 'a' } }, spec: { csi, nodeAffinity } };
    expect(toInTreeVolume(volume)).toStrictEqual({
      kind: 'ok',
      value: {
        metadata: { name: 'pv1', labels: { team: 'a' } },
        spec: { portworxVolume: { volumeID: '42' }, nodeAffinity },
      },
    });
  });

  it('given a resource group and annotations, then the group is added to them', () => {
    const csi = { driver: 'file.csi.azure.com', volumeHandle: 'rg#acc#s' };
    const volume = { metadata: { name: 'pv1', annotations: { a: 'b' } }, spec: { csi } };
    expect(toInTreeVolume(volume)).toMatchObject({
      value: { metadata: { annotations: { a: 'b', 'kubernetes.io/azure-file-resource-group': 'rg' } } },
    });
  });

  it('given a blob whose address has no scheme, then no disk name is found', () => {
    expect(toInTreeVolume(made({ driver: 'disk.csi.azure.com', volumeHandle: 'http/x/vhds/d' }))).toEqual({
      kind: 'error',
      message: 'could not get disk name from http/x/vhds/d, correct format: http(?:.*)://(?:.*)/vhds/(.+)',
    });
  });

  it('given a handle of 16 KiB without an end, then the name of an Azure disk is looked for in time that is linear', () => {
    const volumeHandle = '/subscriptions//resourceGroups/'.repeat(500);
    expect(toInTreeVolume(made({ driver: 'disk.csi.azure.com', volumeHandle })).kind).toBe('error');
  });

  it.each([{}, { spec: {} }])('given %j, which has no CSI volume, then it is refused', (volume) => {
    expect(toInTreeVolume(volume)).toEqual({ kind: 'error', message: 'CSI persistent volume was nil' });
  });
});

describe('a class', () => {
  const storageClass = { provisioner: 'kubernetes.io/aws-ebs', parameters: { zone: 'us-east-1a' } };

  it('given a class that names the driver, or one of another plugin, then it is the class itself', () => {
    const native = { ...storageClass, provisioner: 'ebs.csi.aws.com' };
    expect(toDriverClass(native, 'ebs.csi.aws.com')).toEqual({ kind: 'ok', value: native });
    for (const driver of [gce, 'hostpath.csi.k8s.io']) {
      expect(toDriverClass(storageClass, driver)).toEqual({ kind: 'ok', value: storageClass });
    }
  });

  it('given no zones, then it has no allowed topologies either', () => {
    const plain = { provisioner: 'kubernetes.io/aws-ebs' };
    expect(toDriverClass(plain, 'ebs.csi.aws.com')).toStrictEqual({ kind: 'ok', value: { ...plain, parameters: {} } });
  });

  it('given a zone with a comma, then it is one zone', () => {
    expect(toDriverClass({ ...storageClass, parameters: { zone: 'a,b' } }, 'ebs.csi.aws.com')).toMatchObject({
      kind: 'ok',
      value: { allowedTopologies: [{ matchLabelExpressions: [{ values: ['a,b'] }] }] },
    });
  });

  it('given zone and zones, then zones count', () => {
    const both = toDriverClass({ ...storageClass, parameters: { zone: 'a', zones: 'b,c' } }, 'ebs.csi.aws.com');
    expect(both).toMatchObject({
      kind: 'ok',
      value: { allowedTopologies: [{ matchLabelExpressions: [{ values: ['b', 'c'] }] }] },
    });
  });
});

describe('[provisioner#I4] the same volume', () => {
  const csi = { driver: gce, volumeHandle: 'projects/p/zones/us-east1-b/disks/d' };
  const disk = { gcePersistentDisk: { pdName: 'd' } };
  const rows: readonly [string, PersistentVolume, PersistentVolume, boolean][] = [
    ['CSI, same handle', made(csi), made({ ...csi, fsType: 'ext4' }), true],
    ['CSI, other handle', made(csi), made({ ...csi, volumeHandle: 'x' }), false],
    ['CSI, other driver', made(csi), made({ ...csi, driver: 'x' }), false],
    ['CSI and in tree', made(csi), record(disk), false],
    ['the same disk', record(disk, { [zone]: 'us-east1-b' }), record(disk, { [zone]: 'us-east1-b' }), true],
    ['disks of two zones', record(disk, { [zone]: 'us-east1-b' }), record(disk, { [zone]: 'us-east1-c' }), false],
    ['other disks', record(disk), record({ gcePersistentDisk: { pdName: 'e' } }), false],
    ['other plugins', record(disk), record({ cinder: { volumeID: 'd' } }), false],
    [
      'disks whose zones cannot be translated',
      record(disk, { [zone]: 'us-east1-b__us-west1-b' }),
      record(disk, { [zone]: 'us-east1-b__us-west1-b' }),
      true,
    ],
    [
      'a store by URL and by id',
      record({ awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1' } }),
      record({ awsElasticBlockStore: { volumeID: 'vol-1' } }),
      true,
    ],
    [
      'a disk whose zones cannot be translated and one whose zone can',
      record(disk, { [zone]: 'us-east1-b__us-west1-b' }),
      record(disk, { [zone]: 'us-east1-b' }),
      true,
    ],
    ['nothing', record({}), record({}), false],
    ['a disk and an object without a spec', record(disk), {}, false],
    ['a CSI volume and an object without a spec', made(csi), {}, false],
  ];
  it.each(rows)('given %s, then that is compared', (...[, left, right, isSame]) => {
    expect([isSameVolume(left, right), isSameVolume(right, left)]).toEqual([isSame, isSame]);
  });
});

describe('[provisioner#I4] a PersistentVolume that may record a volume of the driver', () => {
  const vsphere = { driver: 'csi.vsphere.vmware.com', volumeHandle: 'id' };
  const share = { secretName: 'azure-storage-account-acc-secret', shareName: 's', secretNamespace: 'ns' };
  const rows: readonly [string, PersistentVolume, CsiSource, boolean][] = [
    ['a CSI record of it', made({ driver: 'd', volumeHandle: 'v' }), { driver: 'd', volumeHandle: 'v' }, true],
    ['a CSI record of another', made({ driver: 'd', volumeHandle: 'w' }), { driver: 'd', volumeHandle: 'v' }, false],
    [
      'a GCE disk without its project',
      record({ gcePersistentDisk: { pdName: 'd' } }),
      { driver: gce, volumeHandle: 'projects/p/zones/z/disks/d' },
      true,
    ],
    [
      'another GCE disk',
      record({ gcePersistentDisk: { pdName: 'e' } }),
      { driver: gce, volumeHandle: 'projects/p/zones/z/disks/d' },
      false,
    ],
    [
      'a vSphere disk by its path',
      record({ vsphereVolume: { volumePath: 'p' } }),
      { ...vsphere, volumeAttributes: { initialvolumefilepath: 'p' } },
      true,
    ],
    [
      'a vSphere disk that the driver names by its path',
      record({ vsphereVolume: { volumePath: 'id' } }),
      vsphere,
      true,
    ],
    ['another vSphere disk', record({ vsphereVolume: { volumePath: 'p' } }), vsphere, false],
    [
      'a share by account and name',
      record({ azureFile: share }),
      { driver: 'file.csi.azure.com', volumeHandle: 'rg#acc#s#more' },
      true,
    ],
    [
      'another share of the account',
      record({ azureFile: share }),
      { driver: 'file.csi.azure.com', volumeHandle: 'rg#acc#t' },
      false,
    ],
    [
      'a disk whose zones cannot be translated',
      record({ gcePersistentDisk: { pdName: 'd' } }, { [zone]: 'us-east1-b__us-west1-b' }),
      { driver: gce, volumeHandle: 'projects/p/zones/z/disks/d' },
      true,
    ],
    [
      'a volume of neither',
      record({ nfs: { server: 's', path: '/' } }),
      { driver: gce, volumeHandle: 'projects/p/zones/z/disks/d' },
      false,
    ],
    ['an object without a spec', {}, { driver: gce, volumeHandle: 'projects/p/zones/z/disks/d' }, false],
    ['a disk of another plugin', record({ cinder: { volumeID: 'v' } }), { driver: 'x', volumeHandle: 'w' }, false],
  ];
  it.each(rows)('given %s, then that is seen', (...[, volume, csi, isRecord]) => {
    expect(mayRecord(volume, csi)).toBe(isRecord);
  });
});
