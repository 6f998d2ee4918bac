// SPDX-License-Identifier: Apache-2.0
/** Volumes of in-tree plugins, which a driver expands if it replaced the plugin and the claim says so. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aClaim, aDriver, aVolume, sizeOf } from '../../testing/builders.ts';
import { aResizer, type Fixture } from '../../testing/resizer-fixture.ts';
import { annotations } from '../names.ts';
import { toExpandRequest } from './request.ts';

const ebs = 'ebs.csi.aws.com';
const inTree = (
  source: Partial<PersistentVolume['spec']>,
  labels: Readonly<Record<string, string>> = {},
): PersistentVolume => {
  const volume = aVolume();
  const { csi: _csi, ...spec } = volume.spec ?? {};
  return { ...volume, metadata: { ...volume.metadata, labels }, spec: { ...spec, ...source } };
};
const ebsVolume = inTree({ awsElasticBlockStore: { volumeID: 'vol-1' } });
const named = (name: string) => aClaim({ annotations: { [annotations.storageResizer]: name } });
const handles = (r: Fixture) => r.requests('ControllerExpandVolume').map((request) => request['volume_id']);

/** The model knows no such volume, so its answer is NotFound. What matters is the request. */
const run = (name: string, seed: Parameters<typeof aResizer>[0]) => aResizer({ model: { name }, node: [], ...seed });

it('[resizer#122] given an EBS volume and an annotation that names the driver, then it is expanded', async () => {
  const r = await run(ebs, { seed: [ebsVolume, named(ebs)] });
  expect(handles(r)).toEqual(['vol-1']);
  await r.stop();
});

it.each([
  { id: '[resizer#123]', claim: named('kubernetes.io/aws-ebs') },
  { id: '[resizer#124]', claim: named('unknown') },
  { id: '[resizer#124]', claim: aClaim() },
])('$id given the annotations $claim.metadata.annotations, then no call and no write', async ({ claim }) => {
  const r = await run(ebs, { seed: [ebsVolume, claim] });
  expect([handles(r), r.writes()]).toEqual([[], []]);
  await r.stop();
});

it('[resizer#125] given a GCE volume, then its translated handle is sent', async () => {
  const gce = 'pd.csi.storage.gke.io';
  const volume = inTree({ gcePersistentDisk: { pdName: 'disk' } }, { 'topology.kubernetes.io/zone': 'europe-west1-b' });
  const r = await run(gce, { seed: [volume, named(gce)] });
  expect(handles(r)).toEqual(['projects/UNSPECIFIED/zones/europe-west1-b/disks/disk']);
  await r.stop();
});

it('[resizer#116] given a Portworx volume whose annotations name a secret, then the expansion reads that secret', () => {
  const volume = inTree({ portworxVolume: { volumeID: '42' } });
  const secret = { 'openstorage.io/auth-secret-name': 'login', 'openstorage.io/auth-secret-namespace': 'team' };
  const withSecret = { ...volume, metadata: { ...volume.metadata, annotations: secret } };
  const driver = aDriver({ name: 'pxd.portworx.com' });
  expect(toExpandRequest(withSecret, sizeOf('2Gi'), driver)).toMatchObject({
    value: { reference: { name: 'login', namespace: 'team' } },
  });
});

it('[resizer#126] given a driver that replaced no plugin, then there is no request', () => {
  expect(toExpandRequest(ebsVolume, sizeOf('2Gi'), aDriver())).toEqual({
    kind: 'error',
    message: 'volume pv1 is not migrated to CSI',
  });
});

it('[resizer#126] given an in-tree source that cannot be translated, then the text names the source, in the words of upstream', () => {
  const volume = inTree({ awsElasticBlockStore: { volumeID: 'aws://zone/disk-1' } });
  expect(toExpandRequest(volume, sizeOf('2Gi'), aDriver({ name: ebs }))).toEqual({
    kind: 'error',
    message:
      'failed to translate persistent volume: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://zone/disk-1)',
  });
});

it('[resizer#127] given an annotation that appears later, then the expansion starts', async () => {
  const r = await run(ebs, { seed: [ebsVolume, aClaim()] });
  expect(handles(r)).toEqual([]);
  r.changeClaim((claim) => ({
    ...claim,
    metadata: { ...claim.metadata, annotations: { [annotations.storageResizer]: ebs } },
  }));
  await r.settle();
  expect(handles(r)).toEqual(['vol-1']);
  await r.stop();
});

it('[resizer#128] given a CSI volume, then no annotation is needed, and the call does not count as migrated', () => {
  const migrated = (volume: PersistentVolume) => toExpandRequest(volume, sizeOf('2Gi'), aDriver({ name: ebs }));
  expect([migrated(aVolume()), migrated(ebsVolume)]).toMatchObject([
    { value: { migrated: false } },
    { value: { migrated: true } },
  ]);
});

it('[resizer#129] given a CSI volume of another driver and an annotation that names ours, then no call', async () => {
  const r = await run(ebs, { seed: [aVolume({ csi: { driver: 'other' } }), named(ebs)] });
  expect([handles(r), r.writes()]).toEqual([[], []]);
  await r.stop();
});
