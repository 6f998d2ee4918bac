// SPDX-License-Identifier: Apache-2.0
/** PersistentVolumeClaimResize: a bound claim may grow only if its class says that it can be expanded. */
import { storageClasses, type PersistentVolumeClaim } from '@csi-sidecars/runtime';
import { parseQuantity, refusals, type Admission, type AdmittedWrite } from '@csi-sidecars/runtime/testing';

const notBound = 'Only bound persistent volume claims can be expanded';
const notExpandable =
  'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';

export const claimResize: Admission = { validate: checkGrowth };

function checkGrowth({ operation, type, subresource, object, previous, objects }: AdmittedWrite): void {
  if (operation !== 'update' || type.kind !== 'PersistentVolumeClaim' || subresource !== undefined) return;
  if (requested(object) <= requested(previous)) return;
  const { spec, status } = previous as PersistentVolumeClaim;
  if (status?.phase !== 'Bound') throw refusals.forbidden(type, object.metadata.name, notBound);
  const storageClass = objects.get(storageClasses, { name: spec?.storageClassName ?? '' });
  if (storageClass?.allowVolumeExpansion !== true) throw refusals.forbidden(type, object.metadata.name, notExpandable);
}

function requested(claim: PersistentVolumeClaim | undefined): bigint {
  return parseQuantity(claim?.spec?.resources?.requests?.['storage'])?.nanos ?? 0n;
}
