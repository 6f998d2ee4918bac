// SPDX-License-Identifier: Apache-2.0
/** How a run of the VolumeSnapshot loop ends. */
import { isFailed, retry } from '@csi-sidecars/runtime';
import * as messages from './messages.ts';
import type { Action, SnapshotState } from './state.ts';

/** A claim that could not be released is reported, and tried again, whatever else the run found. */
export function withClaimRelease({ claimReleased }: SnapshotState, action: Action): Action {
  if (action.kind !== 'conclude' || !isFailed(claimReleased)) return action;
  const outcome = action.outcome.kind === 'done' ? retry(claimReleased.failure) : action.outcome;
  return { ...action, outcome, events: [messages.claimNotReleased, ...action.events] };
}
