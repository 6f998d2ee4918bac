// SPDX-License-Identifier: Apache-2.0
/** The conclusions that several decisions of the attach loop share. */
import { type Conclusion, type Outcome, requeueAfter } from '@csi-sidecars/runtime';

export const conclude = (row: string, outcome: Outcome): Conclusion => ({ row, kind: 'conclude', outcome });

/**
 * The call in flight may take until its deadline, but most calls take much less than a second. So does a cache until it shows that an
 * object is gone.
 */
export const busy: Outcome = requeueAfter(1_000); // A11, A12, D8, G3

/** A new run sees what has changed during this one. */
export const atOnce: Outcome = requeueAfter(0); // A11, A13
