// SPDX-License-Identifier: Apache-2.0
/** How a run of the modification loop ends. */
import { type Outcome, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import * as messages from './messages.ts';
import type { Conclusion } from './state.ts';

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}

/** Without an event: nothing was asked of the driver, or its answer could not be recorded. */
export function failSilently(row: string, cause: Error): Conclusion {
  return conclude(row, retry(new Error(messages.noStatus(cause.message), { cause })));
}
