// SPDX-License-Identifier: Apache-2.0
import { compareQuantities, parseQuantity } from '@csi-sidecars/volume';

/** Negative, 0 or positive. 0 also if one of them is no quantity: no conclusion is drawn from it. */
export function compareSizes(left: string, right: string): number {
  const [a, b] = [parseQuantity(left), parseQuantity(right)];
  return a === undefined || b === undefined ? 0 : compareQuantities(a, b);
}
