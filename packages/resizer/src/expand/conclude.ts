// SPDX-License-Identifier: Apache-2.0
/** How a run of the expansion loop ends. */
import { type Outcome, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import * as messages from './messages.ts';
import type { Conclusion } from './state.ts';

/** The claim has just been read again: one write of somebody else is not worth a backoff. */
export const afterConflictMs = 50;

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}

/** With the event that users see, and the backoff. */
export function fail(row: string, message: string, cause?: Error): Conclusion {
  return conclude(row, retry(new Error(message, { cause })), messages.failed(message));
}
