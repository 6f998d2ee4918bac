// SPDX-License-Identifier: Apache-2.0
/** How a run of the VolumeSnapshot loop ends. */
import { isFailed, type Outcome, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';
import { isReported, type Problem } from '../save-error.ts';
import * as messages from './messages.ts';
import type { Action, Conclusion, SnapshotState } from './state.ts';

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}

/** Reports the problem in the status of the snapshot, unless it stands there, and ends the run. */
export function fail(
  s: SnapshotState,
  { row, snapshot, outcome }: { readonly row: string; readonly snapshot: VolumeSnapshot; readonly outcome?: Outcome },
  problem: Problem,
): Action {
  if (s.errorSaved === 'untried' && !isReported(snapshot, problem)) {
    return { row, kind: 'saveError', snapshot, problem };
  }
  if (isFailed(s.errorSaved)) return conclude(row, retry(s.errorSaved.failure));
  return conclude(row, outcome ?? retry(new Error(problem.message)));
}

/** A claim that could not be released is reported, and tried again, whatever else the run found. */
export function withClaimRelease({ claimReleased }: SnapshotState, action: Action): Action {
  if (action.kind !== 'conclude' || !isFailed(claimReleased)) return action;
  const outcome = action.outcome.kind === 'done' ? retry(claimReleased.failure) : action.outcome;
  return { ...action, outcome, events: [messages.claimNotReleased, ...action.events] };
}
