// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of a content that is to be deleted, for both kinds. Pure; first match wins.
 *
 * The status is cleared before the finalizer goes: a run that fails in between does not delete the snapshot again.
 */
import type { RequestOf } from '@csi-sidecars/csi';
import { done, isFailed, isNotFound, retry } from '@csi-sidecars/runtime';
import type { Result, SecretReference } from '@csi-sidecars/volume';
import { conclude, type Run } from './conclude.ts';
import { contentNameOf, isMarked } from './content-object.ts';
import type { ContentAction, ContentTypes } from './content-types.ts';
import * as messages from './messages.ts';
import { withSecrets } from './secrets.ts';

export interface Deletion<T extends ContentTypes> extends Run<T> {
  readonly secret: Result<SecretReference | undefined>;
  readonly request: Result<RequestOf<T['delete']>>;
}

export function decideDeletion<T extends ContentTypes>(run: Deletion<T>): ContentAction<T> {
  const { state, content, kind, secret, request } = run;
  const { rows, messages: texts } = kind;
  const failWith = (row: string, message: string, cause: string): ContentAction<T> =>
    conclude(row, retry(new Error(cause)), messages.warning(texts.deleteReason, message));
  if (secret.kind === 'error') return failWith(rows.noCredentials, messages.noCredentials, secret.message);
  if (isFailed(state.secrets)) {
    return failWith(rows.noCredentials, messages.noCredentials, state.secrets.failure.message);
  }
  if (secret.value !== undefined && state.secrets === 'unasked') {
    return { row: rows.noCredentials, kind: 'readSecret', reference: secret.value };
  }
  const notDeleted = (cause: string): ContentAction<T> =>
    failWith(rows.delete, messages.notDeleted(texts.subject, cause), texts.notDeleted(contentNameOf(content), cause));
  if (request.kind === 'error') return notDeleted(request.message);
  if (isFailed(state.deleted)) return notDeleted(state.deleted.failure.message);
  if (state.deleted === 'untried') {
    return { row: rows.delete, kind: 'delete', request: withSecrets(request.value, state.secrets) };
  }
  if (state.cleared === 'untried') return { row: rows.clear, kind: 'clear', content };
  const cause = isFailed(state.cleared) ? state.cleared.failure : new Error(messages.statusRemains);
  if (isNotFound(cause)) return conclude(rows.clear, done);
  return failWith(rows.clear, messages.notCleared, messages.notWritten(contentNameOf(content), cause.message));
}

/** Nothing is left to delete on the storage system, or it is to stay. Finalizers of others are not waited for. */
export function decideRelease<T extends ContentTypes>({ state, content, kind }: Run<T>): ContentAction<T> {
  const { rows, finalizer } = kind;
  const { released } = state;
  if (isFailed(released)) {
    const { failure } = released;
    if (isNotFound(failure)) return conclude(rows.release, done);
    return conclude(rows.release, retry(new Error(messages.notWritten(contentNameOf(content), failure.message))));
  }
  const isHeld = content.metadata?.finalizers?.includes(finalizer) === true;
  if (!isHeld) return conclude(rows.release, done);
  return released === 'untried'
    ? { row: rows.release, kind: 'release', content }
    : conclude(rows.release, retry(new Error(messages.finalizerRemains)));
}

/** An annotation that a crash left behind, on a content that needs nothing else. */
export function decideReady<T extends ContentTypes>({ state, content, kind }: Run<T>): ContentAction<T> {
  const { row, unmarked } = { row: kind.rows.ready, unmarked: state.unmarked };
  if (isFailed(unmarked)) {
    return conclude(row, retry(new Error(messages.notWritten(contentNameOf(content), unmarked.failure.message))));
  }
  const isLeftBehind = isMarked(content, kind.annotations);
  return isLeftBehind && unmarked === 'untried' ? { row, kind: 'unmark', content } : conclude(row, done);
}
