// SPDX-License-Identifier: Apache-2.0
/** The claims of one place, in its namespace, of the class of the same name. */
import { aClaim, aStorageClass } from '@csi-sidecars/e2e';
import { persistentVolumeClaims, storageClasses, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { inParallel } from '../side-by-side/in-parallel.ts';
import type { Place } from '../side-by-side/place.ts';

/** Requests at the same time. */
export const concurrency = 32;

export async function createClass({ stand, namespace, driver }: Place): Promise<void> {
  await stand.api.create(storageClasses, aStorageClass(namespace, driver.name));
}

export async function createClaim({ stand, namespace }: Place, name: string): Promise<PersistentVolumeClaim> {
  const claim = aClaim(name, namespace);
  return await stand.api.create(persistentVolumeClaims, { ...claim, metadata: { name, namespace } });
}

export async function deleteClaims({ stand, namespace }: Place, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => stand.api.delete(persistentVolumeClaims, { namespace, name }));
}
