// SPDX-License-Identifier: Apache-2.0
/** The claims of one test bed, in its namespace, with the class of the same name. */
import { aClaim, aStorageClass } from '@csi-sidecars/e2e';
import { persistentVolumeClaims, storageClasses, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { inParallel } from '../side-by-side/in-parallel.ts';
import type { TestBed } from '../side-by-side/test-bed.ts';

/** Requests at the same time. */
export const concurrency = 32;

export async function createClass({ cluster, namespace, driver }: TestBed): Promise<void> {
  await cluster.api.create(storageClasses, aStorageClass(namespace, driver.name));
}

export async function createClaim({ cluster, namespace }: TestBed, name: string): Promise<PersistentVolumeClaim> {
  const claim = aClaim(name, namespace);
  return await cluster.api.create(persistentVolumeClaims, { ...claim, metadata: { name, namespace } });
}

export async function deleteClaims({ cluster, namespace }: TestBed, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => cluster.api.delete(persistentVolumeClaims, { namespace, name }));
}
