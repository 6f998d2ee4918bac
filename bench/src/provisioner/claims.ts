// SPDX-License-Identifier: Apache-2.0
/** The claims of one place, in its namespace, of the class of the same name. */
import { aClaim, aStorageClass } from '@csi-sidecars/e2e';
import { persistentVolumeClaims, storageClasses, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import type { Place } from '../side-by-side/place.ts';

export async function createClass({ stand, namespace, driver }: Place): Promise<void> {
  await stand.api.create(storageClasses, aStorageClass(namespace, driver.name));
}

export async function createClaim({ stand, namespace }: Place, name: string): Promise<PersistentVolumeClaim> {
  const claim = aClaim(name, namespace);
  return await stand.api.create(persistentVolumeClaims, { ...claim, metadata: { name, namespace } });
}
