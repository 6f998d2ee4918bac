// SPDX-License-Identifier: Apache-2.0
/** What all ways through a content share: what the run knows, how it reads a secret, how a failure is shown, how it ends. Pure. */
import {
  done,
  ending,
  type Flow,
  orEnd,
  type Outcome,
  perform,
  postpone,
  type RecordedEvent,
  requeueAfter,
  retry,
} from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';
import { isReady, isToBeDeleted } from './content-object.ts';
import type { Conclusion, ContentKind, ContentTypes, FlowContext, Observed } from './content-types.ts';
import * as messages from './messages.ts';
import * as step from './steps.ts';

/** A run about a content that is there. */
export interface Present<T extends ContentTypes> extends Observed<T> {
  readonly content: T['content'];
  readonly kind: ContentKind<T>;
  readonly context: FlowContext;
  /** The flow from its top, for a content that has changed in a way that matters. */
  readonly again: (content: T['content'] | undefined) => Flow<Conclusion>;
}

/** What the content needs. A write of this run, or of another program meanwhile, may change it. */
type Need = 'release' | 'delete' | 'nothing' | 'query' | 'group' | 'create';

export function needOf<T extends ContentTypes>(content: T['content'], kind: ContentKind<T>): Need {
  if (isToBeDeleted(content, kind)) return kind.takesSnapshotAlong(content) ? 'delete' : 'release';
  if (isReady(content)) return 'nothing';
  return kind.wayOf(content);
}

/**
 * A request may wait for its turn for long, and nothing guards the call that follows: the content may have been deleted by now, or its policy
 * may be to keep the snapshot. Then the run goes on from the top.
 */
export function* readSecret<T extends ContentTypes>(
  run: Present<T>,
  row: string,
  {
    reference,
    failed,
  }: { readonly reference: SecretReference | undefined; readonly failed: (cause: Error) => Flow<Conclusion> },
): Flow<{ readonly secrets?: step.Secrets }> {
  if (reference === undefined) return {};
  const secrets = yield* orEnd(perform(row, step.readCallSecret, reference), failed);
  const now = yield* perform(row, step.look<T>, run.content);
  if (now?.metadata?.resourceVersion !== run.content.metadata?.resourceVersion) throw ending(yield* run.again(now));
  return { secrets };
}

/** The answer of the driver is recorded. Polling goes on with the backoff that failures have as well. */
export function finish<T extends ContentTypes>(content: T['content'], kind: ContentKind<T>): Conclusion {
  const { rows } = kind;
  // Its deletion was asked for during the run. Own writes wake no key.
  if (isToBeDeleted(content, kind)) return conclude(rows.deletedMeanwhile, requeueAfter(0));
  return isReady(content)
    ? conclude(rows.finished, done)
    : conclude(rows.notReady, postpone('the snapshot is not ready'));
}

interface Failure {
  readonly row: string;
  readonly procedure: messages.Procedure;
  readonly cause: string;
}

/** The status shows the failure, then an event reports it. A failure that the status shows already is retried silently. */
export function* fail<T extends ContentTypes>(
  { content }: Present<T>,
  { row, procedure, cause }: Failure,
): Flow<{ readonly content: T['content']; readonly conclusion: Conclusion }> {
  const message = procedure.prefix + cause;
  const outcome = retry(new Error(message));
  if (content.status?.error?.message === message) return { content, conclusion: conclude(row, outcome) };
  let shown = content;
  try {
    shown = yield* perform(row, step.saveFailure<T>, content, message);
  } catch {
    // The failure itself is retried; that it could not be shown is no other one.
  }
  return { content: shown, conclusion: conclude(row, outcome, messages.warning(procedure.reason, message)) };
}

export function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}
