// SPDX-License-Identifier: Apache-2.0
/** How a run ends, in both loops. */
import { done, type Outcome, postpone, type RecordedEvent, requeueAfter, retry } from '@csi-sidecars/runtime';
import { isReady, isToBeDeleted } from './content-object.ts';
import type { Conclusion, ContentAction, ContentKind, ContentState, ContentTypes } from './content-types.ts';
import { type Procedure, warning } from './messages.ts';

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}

/** A run about one content that is there. */
export interface Run<T extends ContentTypes> {
  readonly state: ContentState<T>;
  readonly content: T['content'];
  readonly kind: ContentKind<T>;
}

/** The status shows the failure, then an event reports it. A failure that the status shows already is retried silently. */
export function fail<T extends ContentTypes>(
  { state, content }: Run<T>,
  { row, procedure, cause }: { readonly row: string; readonly procedure: Procedure; readonly cause: string },
): ContentAction<T> {
  const message = procedure.prefix + cause;
  const outcome = retry(new Error(message));
  if (state.failureSaved !== 'untried') return conclude(row, outcome, warning(procedure.reason, message));
  if (content.status?.error?.message === message) return conclude(row, outcome);
  return { row, kind: 'saveFailure', content, message };
}

/** The answer of the driver is recorded. Polling goes on with the backoff that failures have as well. */
export function finish<T extends ContentTypes>({ content, kind }: Run<T>): ContentAction<T> {
  const { rows } = kind;
  // Its deletion was asked for during the run. Own writes wake no key.
  if (isToBeDeleted(content, kind)) return conclude(rows.deletedMeanwhile, requeueAfter(0));
  return isReady(content)
    ? conclude(rows.finished, done)
    : conclude(rows.notReady, postpone('the snapshot is not ready'));
}
