// SPDX-License-Identifier: Apache-2.0
/** Rows R1 to R3. Pure; first match wins. */
import { done, isFailed, retry } from '@csi-sidecars/runtime';
import { conclude } from '../conclusions.ts';
import { isDeleting, isProtected } from '../snapshot/snapshot.ts';
import type { Action, ClaimState } from './state.ts';

export function decide({ claim, isLeft, hasSnapshot, released }: ClaimState): Action {
  if (isFailed(released)) return conclude('R3', retry(released.failure));
  if (released === 'done') return conclude('R3', done);
  if (claim === undefined || !isProtected(claim) || !(isLeft || isDeleting(claim))) return conclude('R1', done);
  return hasSnapshot ? conclude('R2', done) : { row: 'R3', kind: 'release', claim };
}
