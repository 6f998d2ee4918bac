// SPDX-License-Identifier: Apache-2.0
/** Rows M17 to M22: after the call. Pure; first match wins. */
import {
  done,
  isFailed,
  type RecordedEvent,
  requeueAfter,
  retry,
  type VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import { outcomeOfModification } from '../call-outcome.ts';
import { wantedClassOf } from '../claim.ts';
import { conclude, failSilently } from './conclude.ts';
import type { Pair } from './decide.ts';
import * as messages from './messages.ts';
import type { Action, FailureOutcome, ModifyState } from './state.ts';

type PairWithTarget = Pair & { readonly target: VolumeAttributesClass };

export function decideAnswer(s: ModifyState, pair: PairWithTarget): Action {
  return isFailed(s.modified) ? afterFailure(s, pair, s.modified.failure) : afterSuccess(s, pair);
}

/** First the PersistentVolume, then the claim: a claim that shows the class has a volume that has it. */
function afterSuccess(s: ModifyState, { claim, volume, target }: PairWithTarget): Action {
  const className = target.metadata?.name ?? '';
  if (isFailed(s.volumeSaved)) return failSilently('M17', s.volumeSaved.failure);
  const isSaved = s.volumeSaved === 'done' || volume.spec?.volumeAttributesClassName === className;
  if (!isSaved) return { row: 'M17', kind: 'saveVolume', volume, className };
  if (isFailed(s.resultSaved)) return failSilently('M18', s.resultSaved.failure);
  if (s.resultSaved === 'untried') return { row: 'M18', kind: 'saveResult', claim, className };
  const wanted = wantedClassOf(claim);
  // The user may want another class by now. The own write does not wake the claim.
  const isWanted = wanted === className || wanted === '';
  return conclude('M19', isWanted ? done : requeueAfter(0), messages.modified(claim.metadata?.name ?? '', className));
}

const rows: Readonly<Record<FailureOutcome, string>> = { open: 'M20', infeasible: 'M21', final: 'M22' };

function afterFailure({ failureSaved }: ModifyState, { claim, target }: PairWithTarget, failure: Error): Action {
  const outcome = outcomeOfModification(failure);
  if (outcome === 'notSent') return failSilently('M14', failure);
  const row = rows[outcome];
  if (failureSaved === 'untried') return { row, kind: 'saveFailure', claim, failure, outcome };
  if (isFailed(failureSaved)) return conclude(row, retry(failureSaved.failure));
  const event: RecordedEvent =
    outcome === 'open'
      ? messages.stillModifying(failure.message, target.metadata?.name ?? '')
      : messages.failed(failure.message);
  return conclude(row, retry(failure), event);
}
