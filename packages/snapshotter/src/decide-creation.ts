// SPDX-License-Identifier: Apache-2.0
/**
 * Rows of taking a snapshot, for both kinds; the same for the first attempt, for every retry, and for polling until the snapshot is
 * ready. Pure; first match wins.
 *
 * The intent is persisted before the call and removed after the answer is recorded: while it is there, the content is not deleted.
 * Everything that can be checked is checked before, so that nothing but an open call leaves the intent behind.
 */
import { done, isFailed, requeueAfter, retry, type RecordedEvent } from '@csi-sidecars/runtime';
import type { RequestOf } from '@csi-sidecars/csi';
import type { Result } from '@csi-sidecars/volume';
import { outcomeOfCreation } from './call-outcome.ts';
import { conclude, fail, finish, type Run } from './conclude.ts';
import {
  contentNameOf,
  isDeletionHeld,
  isFullyMarked,
  isMarked,
  isToBeDeleted,
  isWithdrawn,
} from './content-object.ts';
import type { ContentAction, ContentState, ContentTypes, Planned } from './content-types.ts';
import * as messages from './messages.ts';
import { withdrawn } from './names.ts';
import { withSecrets } from './secrets.ts';

export interface Creation<T extends ContentTypes> extends Run<T> {
  /** The message of a refusal is the cause of the failure, in full. */
  readonly plan: Result<Planned<RequestOf<T['create']>>>;
  /** The volumes, as messages name them. */
  readonly volumes: string;
}

export function decideCreation<T extends ContentTypes>(run: Creation<T>): ContentAction<T> {
  const { state, content, kind, plan } = run;
  const { rows, messages: texts } = kind;
  const name = contentNameOf(content);
  const { created } = state;
  if (created !== 'unasked') return decideCreated(run, created);
  if (isWithdrawn(content, kind.annotations)) return conclude(rows.withdrawn, done);
  // Before anything that may prevent the next call: if the other half is lost too, nothing shows that the last call is open.
  if (isMarked(content, kind.annotations) && state.marked === 'untried' && isToBeRestored(run)) {
    return { row: rows.mark, kind: 'mark', content };
  }
  if (plan.kind === 'error') return failCreation(run, rows.noRequest, plan.message);
  const { reference } = plan.value;
  if (isFailed(state.secrets)) {
    const cause = messages.annotatedSecretUnreadable(texts.subject, name);
    return failCreation(run, rows.secret, texts.noInput(name, cause));
  }
  if (reference !== undefined && state.secrets === 'unasked') {
    return { row: rows.secret, kind: 'readSecret', reference };
  }
  const intent = state.restored === 'untried' ? state.marked : state.restored;
  if (isFailed(intent)) {
    const cause = messages.notWritten(name, intent.failure.message);
    return failCreation(run, rows.mark, texts.notMarked(name, cause));
  }
  if (!isMarked(content, kind.annotations)) {
    if (intent === 'untried') return { row: rows.mark, kind: 'mark', content };
    // An admission webhook may drop it. Without a persisted intent there is no call.
    return failCreation(run, rows.mark, texts.notMarked(name, messages.markVanished));
  }
  if (isFailed(state.confirmed)) {
    return failCreation(run, rows.mark, messages.notRead(texts.subject, name, state.confirmed.failure.message));
  }
  // A snapshot that is taken for a content that is gone belongs to none.
  if (intent === 'untried' && state.confirmed === 'untried') return { row: rows.mark, kind: 'confirm', content };
  return { row: rows.create, kind: 'create', request: withSecrets(plan.value.request, state.secrets) };
}

function decideCreated<T extends ContentTypes>(
  run: Creation<T>,
  created: Exclude<ContentState<T>['created'], 'unasked'>,
): ContentAction<T> {
  const { state, content, kind, volumes } = run;
  const { rows, messages: texts } = kind;
  if (isFailed(created)) return afterFailure(run, created.failure);
  const taken = kind.readCreated(created.value);
  if (taken.kind === 'error') return failOpen(run, rows.unusable, texts.notTaken(volumes, taken.message));
  const name = contentNameOf(content);
  if (isFailed(state.saved)) {
    const cause = texts.notSaved(name, messages.notWritten(name, state.saved.failure.message));
    return failOpen(run, rows.save, cause);
  }
  if (state.saved === 'untried') return { row: rows.save, kind: 'save', content, taken: taken.value };
  if (!isMarked(content, kind.annotations)) return finish(run);
  if (state.unmarked === 'untried') return { row: rows.unmark, kind: 'unmark', content };
  // The snapshot is as good as the driver says: the status keeps that.
  const { reason, prefix } = procedureOf(run);
  const cause = isFailed(state.unmarked)
    ? messages.notWritten(name, state.unmarked.failure.message)
    : messages.markRemains;
  const message = prefix + texts.notUnmarked(name, cause);
  return conclude(rows.unmark, retry(new Error(message)), messages.warning(reason, message));
}

/** After a final answer nothing is under way: the annotation goes before the failure is shown. */
function afterFailure<T extends ContentTypes>(run: Creation<T>, failure: Error): ContentAction<T> {
  const { state, content, kind, volumes } = run;
  const { rows, messages: texts } = kind;
  const cause = texts.notTaken(volumes, failure.message);
  if (outcomeOfCreation(failure) === 'open') return failOpen(run, rows.open, cause);
  const name = contentNameOf(content);
  if (isFailed(state.unmarked)) {
    const notRemoved = messages.notWritten(name, state.unmarked.failure.message);
    return failCreation(run, rows.refused, texts.notUnmarkedAfterFailure(name, notRemoved));
  }
  if (state.unmarked === 'untried' && isMarked(content, kind.annotations)) {
    return { row: rows.refused, kind: 'unmark', content };
  }
  const action = failCreation(run, rows.refused, cause);
  const isOver = action.kind === 'conclude' && isToBeDeleted(content, kind);
  return isOver ? { ...action, outcome: requeueAfter(0) } : action;
}

/** The intent has to stay, and another program may have removed it during the call, or a part of it. */
function failOpen<T extends ContentTypes>(run: Creation<T>, row: string, cause: string): ContentAction<T> {
  return isToBeRestored(run) ? { row, kind: 'restoreMark', content: run.content } : failCreation(run, row, cause);
}

function isToBeRestored<T extends ContentTypes>({ state, content, kind }: Run<T>): boolean {
  const { annotations } = kind;
  return state.restored === 'untried' && !isFullyMarked(content, annotations) && !isWithdrawn(content, annotations);
}

function failCreation<T extends ContentTypes>(run: Creation<T>, row: string, cause: string): ContentAction<T> {
  const { content, kind } = run;
  const action = fail(run, { row, procedure: procedureOf(run), cause });
  const isHeld = row !== kind.rows.refused && isDeletionHeld(content, kind.annotations);
  return action.kind === 'conclude' && isHeld ? { ...action, events: [...action.events, heldUp(run)] } : action;
}

/** Each attempt records it, so that a person finds the way out. */
function heldUp<T extends ContentTypes>({ content, kind }: Run<T>): RecordedEvent {
  const { methods, messages: texts, annotations } = kind;
  const call = methods.create.slice(methods.create.lastIndexOf('/') + 1);
  const object = `${texts.resource} ${contentNameOf(content)}`;
  return messages.warning(
    texts.deleteReason,
    messages.deletionHeld(call, object, `${annotations.beingCreated}=${withdrawn}`),
  );
}

/** Upstream's words: the first attempt creates, every later one checks. */
function procedureOf<T extends ContentTypes>({ state, kind }: Run<T>): messages.Procedure {
  return state.isFirst ? kind.messages.creating : kind.messages.checking;
}
