// SPDX-License-Identifier: Apache-2.0
/** How a run of the attach loop ends. */
import { type Conclusion, type Outcome, requeueAfter } from '@csi-sidecars/runtime';

export const conclude = (row: string, outcome: Outcome): Conclusion => ({ row, kind: 'conclude', outcome });

/** The call that is under way may take its whole deadline, but most calls are much shorter. */
export const busy: Outcome = requeueAfter(1_000); // A12, D8, G3
