// SPDX-License-Identifier: Apache-2.0
/**
 * The claims of one test bed: each is bound to a volume of the driver. The bench writes all objects itself, and stops the
 * controller-manager: nothing but the program under test changes them afterwards.
 */
import { aClaim, aStorageClass, aVolume } from '@csi-sidecars/e2e';
import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttributesClasses,
} from '@csi-sidecars/runtime';
import { inParallel } from '../side-by-side/in-parallel.ts';
import { concurrency, createStoredVolumes } from '../side-by-side/stored-volumes.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';

export const sizeBefore = '1Gi';
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

/** A claim and its volume have the same name. */
export async function createBoundClaims(bed: TestBed, names: readonly string[]): Promise<void> {
  const { cluster, namespace, driver } = bed;
  await createStoredVolumes(bed, names, async ({ name, handle }) => {
    const claim = await cluster.api.create(persistentVolumeClaims, {
      ...aClaim(name, namespace, { volumeName: name }),
      metadata: { name, namespace, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
    });
    const csi = { driver: driver.name, volumeHandle: handle };
    const claimRef = {
      kind: 'PersistentVolumeClaim',
      apiVersion: 'v1',
      namespace,
      name,
      uid: claim.metadata?.uid ?? '',
    };
    await cluster.api.create(persistentVolumes, aVolume(name, csi, { claimRef, storageClassName: namespace }));
    await cluster.api.patch(
      { resource: persistentVolumes, ref: { name } },
      { type: 'merge', body: { status: { phase: 'Bound' } } },
      { subresource: 'status' },
    );
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: sizeBefore } };
    await cluster.api.patch(
      { resource: persistentVolumeClaims, ref: { namespace, name } },
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    );
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
