// SPDX-License-Identifier: Apache-2.0
/** The classes, secrets and the driver's registration, as an administrator has created them. */
import { aPopulator } from '@csi-sidecars/data-source-validator/testing';
import type { Sim } from '@csi-sidecars/sim';
import { snapshotAnnotations } from '@csi-sidecars/volume';
import { driverName, namespace, plainDriverName, secretText } from './names.ts';
import { sourceKinds } from './sources.ts';

const storage = 'storage.k8s.io/v1';
const snapshots = 'snapshot.storage.k8s.io/v1';
const secretParameters = Object.fromEntries(
  ['provisioner', 'controller-publish', 'controller-expand'].flatMap((use) => [
    [`csi.storage.k8s.io/${use}-secret-name`, 'login'],
    [`csi.storage.k8s.io/${use}-secret-namespace`, namespace],
  ]),
);

export function seedCluster({ server }: Sim): void {
  const classOf = (name: string, fields: object): void => {
    server.seed({
      apiVersion: storage,
      kind: 'StorageClass',
      metadata: { name },
      provisioner: driverName,
      reclaimPolicy: 'Delete',
      volumeBindingMode: 'Immediate',
      allowVolumeExpansion: true,
      ...fields,
    });
  };
  server.seed({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
    status: { phase: 'Active' },
  } as never);
  const data = { password: Buffer.from(secretText).toString('base64') };
  server.seed({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: 'login' }, data } as never);
  for (const [name, attachRequired] of [
    [driverName, true],
    [plainDriverName, false],
  ] as const) {
    server.seed({ apiVersion: storage, kind: 'CSIDriver', metadata: { name }, spec: { attachRequired } } as never);
  }
  classOf('fast', { parameters: secretParameters });
  classOf('late', { volumeBindingMode: 'WaitForFirstConsumer' });
  classOf('kept', { reclaimPolicy: 'Retain' });
  classOf('plain', { provisioner: plainDriverName, allowVolumeExpansion: false });
  for (const [name, iops] of [
    ['gold', '900'],
    ['silver', '300'],
  ]) {
    const fields = { driverName, parameters: { iops } };
    server.seed({ apiVersion: storage, kind: 'VolumeAttributesClass', metadata: { name }, ...fields } as never);
  }
  const marks = { annotations: { [snapshotAnnotations.isDefaultClass]: 'true' } };
  const snapshotClass = { apiVersion: snapshots, kind: 'VolumeSnapshotClass', driver: driverName };
  server.seed({ ...snapshotClass, metadata: { name: 'daily', ...marks }, deletionPolicy: 'Delete' } as never);
  server.seed({ ...snapshotClass, metadata: { name: 'kept' }, deletionPolicy: 'Retain' } as never);
  server.seed({
    apiVersion: 'groupsnapshot.storage.k8s.io/v1',
    kind: 'VolumeGroupSnapshotClass',
    metadata: { name: 'together' },
    driver: driverName,
    deletionPolicy: 'Delete',
  } as never);
}

/** The populators that stay through the whole story. */
export function seedPopulators({ server }: Sim): void {
  for (const { group, kind, registered } of sourceKinds) {
    if (registered === 'always') server.seed(aPopulator({ group, kind }, `populator-of-${kind}`));
  }
}
