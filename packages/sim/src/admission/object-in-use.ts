// SPDX-License-Identifier: Apache-2.0
/** StorageObjectInUseProtection: new volumes and claims are created with their protection finalizer. */
import type { Admission, AdmittedWrite, StoredObject } from '@csi-sidecars/runtime/testing';
import { claimProtection, volumeProtection } from '../annotations.ts';

const finalizers: ReadonlyMap<string, string> = new Map([
  ['PersistentVolume', volumeProtection],
  ['PersistentVolumeClaim', claimProtection],
]);

export const storageObjectInUse: Admission = { mutate: protect };

function protect({ operation, type, object }: AdmittedWrite): StoredObject {
  const finalizer = type.group === '' ? finalizers.get(type.kind) : undefined;
  const present = object.metadata.finalizers ?? [];
  if (operation !== 'create' || finalizer === undefined || present.includes(finalizer)) return object;
  return { ...object, metadata: { ...object.metadata, finalizers: [...present, finalizer] } };
}
