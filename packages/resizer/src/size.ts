// SPDX-License-Identifier: Apache-2.0
/** Sizes in API objects: exact, and zero where there is none. */
import { compareQuantities, formatQuantity, parseQuantity, type Quantity } from '@csi-sidecars/volume';

const zero: Quantity = { nanos: 0n, format: 'BinarySI' };

/** The API server admits quantities only; anything else counts as absent. */
export function toSize(text: string | undefined): Quantity {
  return (text === undefined ? undefined : parseQuantity(text)) ?? zero;
}

export function isLess(left: Quantity, right: Quantity): boolean {
  return compareQuantities(left, right) < 0;
}

export function isSame(left: Quantity, right: Quantity): boolean {
  return compareQuantities(left, right) === 0;
}

/** In its own format: `1.5Gi` is `1536Mi`. */
export function toText(size: Quantity): string {
  return formatQuantity(size);
}
