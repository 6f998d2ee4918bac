// SPDX-License-Identifier: Apache-2.0
/**
 * Claims that are bound to volumes of the driver. The bench writes these objects itself, without provisioner and controller-manager. They have the
 * storage class of the test environment's name.
 */
import { aClaim, aVolume, inParallel } from '@csi-sidecars/e2e';
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { concurrency, createStoredVolumes } from './stored-volumes.ts';
import type { BenchEnvironment } from './environment.ts';

const size = '1Gi';

/** A claim and its volume have the same name. */
export async function createBoundClaims(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  const { cluster, namespace, driver } = environment;
  await createStoredVolumes(environment, names, async ({ name, handle }) => {
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
    const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: size } };
    await cluster.api.patch(
      { resource: persistentVolumeClaims, ref: { namespace, name } },
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    );
  });
}

/** Removes the objects, so that the programs of the next test environment do not keep them in memory. */
export async function removeBoundClaims(
  { cluster, namespace }: BenchEnvironment,
  names: readonly string[],
): Promise<void> {
  const { api } = cluster;
  // The controllers that would take off these finalizers are stopped.
  const body = { metadata: { finalizers: null } };
  await inParallel(names, concurrency, async (name) => {
    for (const target of [
      { resource: persistentVolumeClaims, ref: { namespace, name } },
      { resource: persistentVolumes, ref: { name } },
    ]) {
      await api.patch(target, { type: 'merge', body });
      await api.delete(target.resource, target.ref);
    }
  });
}
