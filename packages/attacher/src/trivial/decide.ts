// SPDX-License-Identifier: Apache-2.0
/** Rows T1 to T3. Pure; the first matching row wins. */
import { type Conclusion, done, isFailed, type Outcome, retry } from '@csi-sidecars/runtime';
import { isAttached } from '../attachment.ts';
import { notSaved } from './messages.ts';
import type { Action, TrivialState } from './state.ts';

export function decide({ attachment, saved }: TrivialState): Action {
  if (saved === 'done') return conclude('T3', done);
  if (isFailed(saved)) return conclude('T3', retry(notSaved(saved.failure)));
  if (attachment === undefined) return conclude('T1', done);
  if (isAttached(attachment)) return conclude('T2', done);
  return { row: 'T3', kind: 'saveAttached', attachment };
}

const conclude = (row: string, outcome: Outcome): Conclusion => ({ row, kind: 'conclude', outcome });
