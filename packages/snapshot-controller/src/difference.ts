// SPDX-License-Identifier: Apache-2.0
/** Whether two parts of objects say different things. Numbers beyond 2^53 are bigints, which are compared by their digits. */
import { stringifyJson } from '@csi-sidecars/runtime';

/** The API server writes the fields of one object always in the same order; where it did not, a run too many does no harm. */
export function isDifferent(left: object | undefined, right: object | undefined): boolean {
  return left !== right && stringifyJson(left) !== stringifyJson(right);
}
