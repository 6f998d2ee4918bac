// SPDX-License-Identifier: Apache-2.0
/** What is requested of the claims of one test bed. The controller-manager is stopped: nothing but the program under test changes them. */
import { aStorageClass } from '@csi-sidecars/e2e';
import { persistentVolumeClaims, storageClasses, volumeAttributesClasses } from '@csi-sidecars/runtime';
import { inParallel } from '../side-by-side/in-parallel.ts';
import { concurrency } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';

export const sizeAfter = '2Gi';

/** The class that claims are moved to. */
export const classAfter = ({ namespace }: TestBed): string => `${namespace}-gold`;

export async function prepareClasses(bed: TestBed): Promise<void> {
  const { cluster, namespace, driver } = bed;
  await cluster.controlPlane.components.get('kube-controller-manager')?.stop();
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name, { allowVolumeExpansion: true }));
  await cluster.api.create(volumeAttributesClasses, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttributesClass',
    metadata: { name: classAfter(bed) },
    driverName: driver.name,
    parameters: { tier: 'gold' },
  });
}

export async function askForMore(bed: TestBed, names: readonly string[]): Promise<void> {
  await changeClaims(bed, names, { resources: { requests: { storage: sizeAfter } } });
}

export async function askForClass(bed: TestBed, names: readonly string[]): Promise<void> {
  await changeClaims(bed, names, { volumeAttributesClassName: classAfter(bed) });
}

async function changeClaims({ cluster, namespace }: TestBed, names: readonly string[], spec: object): Promise<void> {
  await inParallel(names, concurrency, (name) =>
    cluster.api.patch(
      { resource: persistentVolumeClaims, ref: { namespace, name } },
      { type: 'merge', body: { spec } },
    ),
  );
}
