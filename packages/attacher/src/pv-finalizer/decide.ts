// SPDX-License-Identifier: Apache-2.0
/** Rows F1 to F4. Pure; the first matching row wins. */
import { type Conclusion, done, isFailed, type Outcome, retry } from '@csi-sidecars/runtime';
import { isReleasable } from './releasable.ts';
import type { Action, ReleaseState } from './state.ts';

export function decide(s: ReleaseState, driverName: string): Action {
  const { volume, isAttached, removed } = s;
  if (removed === 'done') return conclude('F4', done);
  if (isFailed(removed)) return conclude('F4', retry(removed.failure));
  if (volume === undefined || !isReleasable(volume, driverName)) return conclude('F1', done);
  if (isAttached) return conclude('F2', done);
  return { row: 'F3', kind: 'removeFinalizer', volume };
}

const conclude = (row: string, outcome: Outcome): Conclusion => ({ row, kind: 'conclude', outcome });
