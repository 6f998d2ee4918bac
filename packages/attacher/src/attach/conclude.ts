// SPDX-License-Identifier: Apache-2.0
import { type Outcome, requeueAfter } from '@csi-sidecars/runtime';
import type { Conclusion } from './state.ts';

export const conclude = (outcome: Outcome): Conclusion => ({ kind: 'conclude', outcome });

/** The call that is under way may take its whole deadline, but most take much less. */
export const busy: Outcome = requeueAfter(1_000); // A12, D8, G3
