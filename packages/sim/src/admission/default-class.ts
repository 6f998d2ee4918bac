// SPDX-License-Identifier: Apache-2.0
/** DefaultStorageClass: a claim that names no class at all gets the default one, the newest if there are several. */
import { storageClasses, type PersistentVolumeClaim, type StorageClass } from '@csi-sidecars/runtime';
import type { Admission, AdmittedWrite, StoredObject } from '@csi-sidecars/runtime/testing';
import { defaultClass } from '../annotations.ts';

export const defaultStorageClass: Admission = { mutate: fillClass };

function fillClass({ operation, type, object, objects }: AdmittedWrite): StoredObject {
  if (operation !== 'create' || type.kind !== 'PersistentVolumeClaim') return object;
  const { spec } = object as PersistentVolumeClaim;
  if (spec?.storageClassName !== undefined) return object;
  const [chosen] = objects.list(storageClasses).filter(isDefault).toSorted(byAge);
  return chosen === undefined ? object : { ...object, spec: { ...spec, storageClassName: chosen.metadata?.name } };
}

function isDefault({ metadata }: StorageClass): boolean {
  return metadata?.annotations?.[defaultClass] === 'true';
}

function byAge(a: StorageClass, b: StorageClass): number {
  return (b.metadata?.creationTimestamp ?? '').localeCompare(a.metadata?.creationTimestamp ?? '');
}
