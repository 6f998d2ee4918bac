// SPDX-License-Identifier: Apache-2.0
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import type { PersistentVolumeSpec } from './provider.ts';
import { inTreeSourceOf, isInTree, toCsiVolume, toInlineCsiVolume } from './translate.ts';

const pvWith = (spec: PersistentVolumeSpec, metadata: PersistentVolume['metadata'] = {}): PersistentVolume => ({
  metadata: { name: 'pv1', ...metadata },
  spec,
});
const outcome = (volume: PersistentVolume): unknown => {
  const result = toCsiVolume(volume);
  return result.kind === 'ok' ? result.value : result.message;
};
const failed = (text: string): string => `failed to translate in tree pv to CSI: ${text}`;

describe('in-tree sources', () => {
  it.each<{ spec: PersistentVolumeSpec; csi: object; because: string; metadata?: PersistentVolume['metadata'] }>([
    {
      because: 'awsElasticBlockStore keeps a bare id',
      spec: { awsElasticBlockStore: { volumeID: 'vol-1', fsType: 'ext4', readOnly: true } },
      csi: {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        readOnly: true,
        fsType: 'ext4',
        volumeAttributes: { partition: '0' },
      },
    },
    {
      because: 'awsElasticBlockStore takes the id out of a URL',
      spec: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-1', partition: 2 } },
      csi: {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        readOnly: false,
        fsType: '',
        volumeAttributes: { partition: '2' },
      },
    },
    {
      because: 'awsElasticBlockStore decodes the escapes of a URL',
      spec: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/%76ol%2D1%2B?q#f' } },
      csi: {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1+',
        readOnly: false,
        fsType: '',
        volumeAttributes: { partition: '0' },
      },
    },
    {
      because: 'awsElasticBlockStore may leave the zone out',
      spec: { awsElasticBlockStore: { volumeID: 'aws:///vol-1/' } },
      csi: {
        driver: 'ebs.csi.aws.com',
        volumeHandle: 'vol-1',
        readOnly: false,
        fsType: '',
        volumeAttributes: { partition: '0' },
      },
    },
    {
      because: 'cinder',
      spec: { cinder: { volumeID: 'v1', readOnly: true, fsType: 'xfs' } },
      csi: {
        driver: 'cinder.csi.openstack.org',
        volumeHandle: 'v1',
        readOnly: true,
        fsType: 'xfs',
        volumeAttributes: {},
      },
    },
    {
      because: 'cinder with nothing',
      spec: { cinder: { volumeID: 'v1' } },
      csi: {
        driver: 'cinder.csi.openstack.org',
        volumeHandle: 'v1',
        readOnly: false,
        fsType: '',
        volumeAttributes: {},
      },
    },
    {
      because: 'azureDisk with everything',
      spec: {
        azureDisk: {
          diskName: 'd',
          diskURI: '/disks/d',
          kind: 'managed',
          cachingMode: 'None',
          fsType: 'ext4',
          readOnly: true,
        },
      },
      csi: {
        driver: 'disk.csi.azure.com',
        volumeHandle: '/disks/d',
        readOnly: true,
        fsType: 'ext4',
        volumeAttributes: { kind: 'Managed', cachingmode: 'None', fstype: 'ext4' },
      },
    },
    {
      because: 'azureDisk with nothing',
      spec: { azureDisk: { diskName: 'd', diskURI: '/disks/d' } },
      csi: {
        driver: 'disk.csi.azure.com',
        volumeHandle: '/disks/d',
        readOnly: false,
        fsType: '',
        volumeAttributes: { kind: 'Managed' },
      },
    },
    {
      because: 'azureFile takes the account from the secret name',
      spec: {
        azureFile: {
          secretName: 'azure-storage-account-acc-secret',
          secretNamespace: 'ns',
          shareName: 'share',
          readOnly: true,
        },
      },
      metadata: { annotations: { 'kubernetes.io/azure-file-resource-group': 'rg' } },
      csi: {
        driver: 'file.csi.azure.com',
        volumeHandle: 'rg#acc#share#pv1#ns',
        readOnly: true,
        volumeAttributes: { sharename: 'share' },
      },
    },
    {
      because: 'azureFile falls back to the secret name and the namespace of the claim',
      spec: { azureFile: { secretName: 's3', shareName: 'share' }, claimRef: { namespace: 'claims' } },
      csi: {
        driver: 'file.csi.azure.com',
        volumeHandle: '#s3#share#pv1#claims',
        readOnly: false,
        volumeAttributes: { sharename: 'share' },
      },
    },
    {
      because: 'vsphereVolume',
      spec: { vsphereVolume: { volumePath: '[ds] v.vmdk', fsType: 'ext4', storagePolicyName: 'gold' } },
      csi: {
        driver: 'csi.vsphere.vmware.com',
        volumeHandle: '[ds] v.vmdk',
        fsType: 'ext4',
        volumeAttributes: { storagepolicyname: 'gold' },
      },
    },
    {
      because: 'vsphereVolume without a policy',
      spec: { vsphereVolume: { volumePath: '[ds] v.vmdk' } },
      csi: { driver: 'csi.vsphere.vmware.com', volumeHandle: '[ds] v.vmdk', fsType: '', volumeAttributes: {} },
    },
    {
      because: 'portworxVolume is never read-only for the driver',
      spec: { portworxVolume: { volumeID: '42', readOnly: true, fsType: 'ext4' } },
      metadata: { annotations: { 'openstorage.io/auth-secret-name': 'lonely' } },
      csi: { driver: 'pxd.portworx.com', volumeHandle: '42', fsType: 'ext4', volumeAttributes: {} },
    },
    {
      because: 'portworxVolume has no secret of which only the namespace is known',
      spec: { portworxVolume: { volumeID: '42' } },
      metadata: { annotations: { 'openstorage.io/auth-secret-namespace': 'ns' } },
      csi: { driver: 'pxd.portworx.com', volumeHandle: '42', fsType: '', volumeAttributes: {} },
    },
    {
      because: 'portworxVolume takes its secret from two annotations',
      spec: { portworxVolume: { volumeID: '42' } },
      metadata: {
        annotations: { 'openstorage.io/auth-secret-name': 'name', 'openstorage.io/auth-secret-namespace': 'ns' },
      },
      csi: {
        driver: 'pxd.portworx.com',
        volumeHandle: '42',
        fsType: '',
        volumeAttributes: {},
        controllerPublishSecretRef: { name: 'name', namespace: 'ns' },
        controllerExpandSecretRef: { name: 'name', namespace: 'ns' },
      },
    },
  ])('$because', ({ spec, metadata, csi }) => {
    const volume = pvWith({ ...spec, accessModes: ['ReadWriteMany'] }, metadata);
    expect(isInTree(volume)).toBe(true);
    // A field that is undefined could not be sent to the driver.
    expect(outcome(volume)).toStrictEqual({ csi, accessModes: ['ReadWriteMany'], migrated: true });
  });

  it.each<{ spec: PersistentVolumeSpec; text: string }>([
    {
      spec: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/disk-1' } },
      text: 'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk-1)',
    },
    {
      spec: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/a/vol-1' } },
      text: 'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/a/vol-1)',
    },
    {
      spec: { awsElasticBlockStore: { volumeID: 'aws://zone:port/vol-1' } },
      text: 'failed to translate Kubernetes ID to EBS Volume ID Invalid disk name (aws://zone:port/vol-1): not a URL',
    },
    {
      spec: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-%zz' } },
      text: 'failed to translate Kubernetes ID to EBS Volume ID Invalid disk name (aws://us-east-1a/vol-%zz): invalid URL escape',
    },
    {
      spec: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/a%2Fvol-1' } },
      text: 'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/a%2Fvol-1)',
    },
    {
      spec: { awsElasticBlockStore: { volumeID: 'aws://us-east-1a/../vol-1' } },
      text: 'failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/../vol-1)',
    },
    {
      spec: { azureDisk: { diskName: 'd', diskURI: '/disks/d', kind: 'Dedicated' } },
      text: 'kind(Dedicated) is not supported in csi migration',
    },
    {
      spec: { azureFile: { secretName: 's', shareName: 'share' } },
      text: 'could not find a secret namespace in PersistentVolumeSource or ClaimRef',
    },
  ])('given $spec, when translated, then it is refused', ({ spec, text }) => {
    expect(outcome(pvWith(spec))).toBe(failed(text));
  });
});

describe('GCE persistent disks', () => {
  const beta = 'failure-domain.beta.kubernetes.io/zone';
  const stable = 'topology.kubernetes.io/zone';
  const gce = (labels: Record<string, string>, accessModes?: string[]): unknown =>
    outcome(
      pvWith(
        { gcePersistentDisk: { pdName: 'pd' }, ...(accessModes === undefined ? {} : { accessModes }) },
        { labels },
      ),
    );

  it.each([
    { labels: {}, place: 'zones/UNSPECIFIED' },
    { labels: { [stable]: 'us-east1-b' }, place: 'zones/us-east1-b' },
    { labels: { [beta]: 'us-east1-b', [stable]: 'us-east1-c' }, place: 'zones/us-east1-b' },
    { labels: { [beta]: '', [stable]: 'us-east1-c' }, place: 'zones/us-east1-c' },
    { labels: { [beta]: 'us-east1-b__us-east1-c' }, place: 'regions/us-east1' },
  ])('given $labels, when translated, then the handle says $place', ({ labels, place }) => {
    expect(gce(labels)).toEqual({
      csi: {
        driver: 'pd.csi.storage.gke.io',
        volumeHandle: `projects/UNSPECIFIED/${place}/disks/pd`,
        readOnly: false,
        fsType: '',
        volumeAttributes: { partition: '' },
      },
      accessModes: [],
      migrated: true,
    });
  });

  it('given a partition, read-only and a file system, when translated, then they are kept', () => {
    const volume = pvWith({ gcePersistentDisk: { pdName: 'pd', partition: 3, readOnly: true, fsType: 'ext4' } });
    expect(outcome(volume)).toMatchObject({
      csi: { readOnly: true, fsType: 'ext4', volumeAttributes: { partition: '3' } },
    });
  });

  it.each([
    {
      zones: 'us-east1-b__us-west1-a',
      text: 'multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]',
    },
    {
      zones: 'us-west1-a__us-east1-b',
      text: 'multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]',
    },
    {
      zones: 'us-east1-b__somewhere',
      text: 'zone in unexpected format, expected: {locale}-{region}-{zone}, got: somewhere',
    },
  ])('given the zones $zones, when translated, then it is refused', ({ zones, text }) => {
    expect(gce({ [stable]: zones })).toBe(failed(`failed to get region from zones: ${text}`));
  });

  it.each([
    { modes: ['ReadWriteMany'], seen: ['ReadWriteOnce'] },
    { modes: ['ReadOnlyMany', 'ReadWriteOnce'], seen: ['ReadWriteOnce'] },
    { modes: ['ReadOnlyMany', 'ReadWriteMany'], seen: ['ReadWriteOnce'] },
    { modes: ['ReadWriteOnce'], seen: ['ReadWriteOnce'] },
    { modes: ['ReadOnlyMany'], seen: ['ReadOnlyMany'] },
    { modes: ['ReadWriteOncePod'], seen: ['ReadWriteOnce'] },
    { modes: [], seen: ['ReadWriteOnce'] },
    { modes: undefined, seen: [] },
  ])('given the modes $modes, when translated, then the driver sees $seen', ({ modes, seen }) => {
    expect(gce({}, modes)).toMatchObject({ accessModes: seen });
  });
});

describe('other sources', () => {
  const csi = { driver: 'driver', volumeHandle: 'v1' };

  it('given a CSI source, when asked for, then it is the source itself, not migrated', () => {
    const volume = pvWith({ csi, accessModes: ['ReadWriteOnce'] });
    expect(isInTree(volume)).toBe(false);
    expect(outcome(volume)).toEqual({ csi, accessModes: ['ReadWriteOnce'], migrated: false });
  });

  it('given a source without any driver, when asked for, then it is refused', () => {
    const volume = pvWith({ nfs: { server: 's', path: '/' } });
    expect(isInTree(volume)).toBe(false);
    expect(outcome(volume)).toBe('pv spec contained non-csi source that was not migrated');
  });

  it('given an object without a spec, when asked for, then it is in no tree, and refused', () => {
    expect(isInTree({})).toBe(false);
    expect(outcome({})).toBe('pv spec contained non-csi source that was not migrated');
  });

  it('given a spec, when its in-tree source is asked for, then it is that source alone', () => {
    const cinder = { volumeID: 'v1' };
    expect(inTreeSourceOf(pvWith({ cinder, accessModes: ['ReadWriteOnce'] }))).toStrictEqual({ cinder });
    expect([inTreeSourceOf(pvWith({ csi })), inTreeSourceOf({})]).toStrictEqual([{}, {}]);
  });

  it('given an inline spec, when asked for, then it needs a CSI source and is never migrated', () => {
    expect(toInlineCsiVolume({ csi })).toEqual({ kind: 'ok', value: { csi, accessModes: [], migrated: false } });
    expect(toInlineCsiVolume({ cinder: { volumeID: 'v1' } })).toEqual({
      kind: 'error',
      message: 'inline volume spec contains nil CSI source',
    });
  });
});
