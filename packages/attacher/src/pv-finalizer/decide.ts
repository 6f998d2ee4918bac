// SPDX-License-Identifier: Apache-2.0
/** Rows F1 to F4. Pure; first match wins. */
import { done, type Outcome, retry } from '@csi-sidecars/runtime';
import type { Action, ReleaseState } from './state.ts';
import { isReleasable } from './volume-facts.ts';

export function decide(s: ReleaseState, driverName: string): Action {
  if (s.release === 'done') return conclude(done); // F4
  if (typeof s.release === 'object') return conclude(retry(s.release.failure)); // F4
  if (!isReleasable(s.volume, driverName)) return conclude(done); // F1
  if (s.attachment !== undefined) return conclude(done); // F2
  return { kind: 'release' }; // F3
}

const conclude = (outcome: Outcome): Action => ({ kind: 'conclude', outcome });
