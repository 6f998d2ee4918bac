// SPDX-License-Identifier: Apache-2.0
/** PersistentVolumeClaimResize: a bound claim may grow only if its class says that it can be expanded. */
import { storageClasses, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { parseQuantity, refusals, type Admission } from '@csi-sidecars/runtime/testing';

const refusal =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';

export const claimResize: Admission = ({ operation, type, subresource, object, previous, objects }) => {
  if (operation !== 'update' || type.kind !== 'PersistentVolumeClaim' || subresource !== undefined) return object;
  if (requested(object) <= requested(previous)) return object;
  const name = (object as PersistentVolumeClaim).spec?.storageClassName ?? '';
  const storageClass = objects.get(storageClasses, { name });
  if (storageClass?.allowVolumeExpansion === true) return object;
  throw refusals.forbidden(type, object.metadata.name, refusal);
};

function requested(claim: PersistentVolumeClaim | undefined): bigint {
  return parseQuantity(claim?.spec?.resources?.requests?.['storage'])?.nanos ?? 0n;
}
