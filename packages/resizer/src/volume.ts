// SPDX-License-Identifier: Apache-2.0
/** What single fields of a PersistentVolume mean, and whose it is. */
import type { PersistentVolume } from '@csi-sidecars/runtime';
import { type Quantity, replacesPlugin } from '@csi-sidecars/volume';
import { annotationOf, type Claim } from './claim.ts';
import { annotations } from './names.ts';
import { toSize } from './size.ts';

export type CsiSource = NonNullable<NonNullable<PersistentVolume['spec']>['csi']>;

export function capacityOfVolume({ spec }: PersistentVolume): Quantity {
  return toSize(spec?.capacity?.['storage']);
}

export function preResizeCapacityOf({ metadata }: PersistentVolume): string | undefined {
  return metadata?.annotations?.[annotations.preResizeCapacity];
}

/** The driver may expand it: its own volume, or one of the in-tree plugin that it replaced. */
export function mayExpand(claim: Claim, { spec }: PersistentVolume, driverName: string): boolean {
  if (spec?.csi !== undefined) return spec.csi.driver === driverName;
  return replacesPlugin(driverName) && annotationOf(claim, annotations.storageResizer) === driverName;
}

/** The PersistentVolume names this claim, not an earlier one of the same name. */
export function isBoundTo({ spec }: PersistentVolume, { metadata }: Claim): boolean {
  const reference = spec?.claimRef;
  return reference?.uid === metadata?.uid && reference?.namespace === metadata?.namespace;
}
