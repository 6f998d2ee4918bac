// SPDX-License-Identifier: Apache-2.0
/**
 * What happens to a content, from top to bottom and for both kinds: a snapshot is taken (`creation.ts`), asked for until it is ready, and
 * deleted. Rows C1 to C28 and G1 to G25 of the page of csi-snapshotter. Pure; what each step does is in `steps.ts`, and in what the kinds
 * differ in `content/` and `group-content/`.
 */
import { done, type Flow, isNotFound, orEnd, perform, postpone, retry } from '@csi-sidecars/runtime';
import { contentNameOf, isMarked, isToBeDeleted } from './content-object.ts';
import type { Conclusion, ContentKind, ContentTypes, FlowContext, Observed } from './content-types.ts';
import * as messages from './messages.ts';
import { annotatedSecretOf } from './secrets.ts';
import * as step from './steps.ts';

import { create } from './creation.ts';
import { after, askForPlaces, recordPlaces } from './places.ts';
import { conclude, fail, finish, needOf, type Present, readSecret } from './run.ts';

export function* handle<T extends ContentTypes>(
  seen: Observed<T>,
  kind: ContentKind<T>,
  context: FlowContext,
): Flow<Conclusion> {
  const { content, class: found } = seen;
  const { rows } = kind;
  if (content === undefined) return conclude(rows.gone, done);
  if (content.spec?.driver !== context.driver.name || !kind.hasSource(content)) return conclude(rows.foreign, done);
  const isOfOtherClass = found !== undefined && found.driver !== context.driver.name;
  // The class may be a later one of that name. What was taken with the earlier one is deleted all the same, as without any class.
  if (isOfOtherClass && !isToBeDeleted(content, kind)) return conclude(rows.otherClass, done);
  const again: Present<T>['again'] = (newer) => handle({ ...seen, content: newer }, kind, context);
  const run = { ...seen, content, kind, context, again };
  switch (needOf(content, kind)) {
    case 'delete':
      return yield* remove(run);
    case 'release':
      return yield* release(run);
    case 'nothing': {
      const row = askedRowOf(run);
      return yield* row === undefined ? tidy(run) : askForPlaces(run, row);
    }
    case 'query':
      return yield* query(run);
    case 'group':
      // snapshot-controller fills in what the group's content says.
      return conclude('C9', postpone('the status of a group member is not filled in'));
    case 'create':
      return yield* create(run);
  }
}

/** The row in which the driver is asked where a ready snapshot can be used. Undefined: it need not be asked. */
function askedRowOf<T extends ContentTypes>({ content, kind, context, places }: Present<T>): string | undefined {
  if (!places.areKept || places.areAsked) return undefined;
  return kind.places?.areMissing(content, context) === true ? kind.places.askedRow : undefined;
}

/** Asks the driver for a snapshot that has a handle. */
function* query<T extends ContentTypes>(run: Present<T>): Flow<Conclusion> {
  const { content, kind, context } = run;
  const { rows, messages: texts } = kind;
  const name = contentNameOf(content);
  const failQuery = function* (row: string, cause: string): Flow<Conclusion> {
    return (yield* fail(run, { row, procedure: texts.checking, cause })).conclusion;
  };
  const plan = kind.planQuery(content, run.class, context);
  if (plan.kind === 'error') return yield* failQuery(rows.noQuery, plan.message);
  const { request, reference, noSecret, assumed, readAnswer } = plan.value;
  const secrets = yield* readSecret(run, rows.querySecret, {
    reference,
    failed: ({ message }) => failQuery(rows.querySecret, noSecret(message)),
  });
  let taken = assumed;
  if (taken === undefined) {
    const answer = yield* orEnd(perform(rows.query, step.query<T>, { ...request, ...secrets }), (failure) =>
      failQuery(rows.queryFailed, texts.notQueried(name, failure.message)),
    );
    const read = readAnswer(answer);
    if (read.kind === 'error') return yield* failQuery(rows.queryFailed, texts.notQueried(name, read.message));
    taken = read.value;
  }
  const recorded = yield* recordPlaces(run, taken, failQuery);
  const saving = perform(rows.save, step.saveTaken<T>, recorded.content, taken);
  const saved = orEnd(saving, (failure) => failQuery(rows.save, messages.notWritten(name, failure.message)));
  return yield* after(recorded.events, finished(saved, kind));
}

function* finished<T extends ContentTypes>(saved: Flow<T['content']>, kind: ContentKind<T>): Flow<Conclusion> {
  return finish(yield* saved, kind);
}

/** The status is cleared before the finalizer goes: a run that fails in between does not delete the snapshot again. */
function* remove<T extends ContentTypes>(run: Present<T>): Flow<Conclusion> {
  const { content, kind } = run;
  const { rows, messages: texts } = kind;
  const name = contentNameOf(content);
  const failWith = (row: string, message: string, cause: string): Conclusion =>
    conclude(row, retry(new Error(cause)), messages.warning(texts.deleteReason, message));
  const secret = annotatedSecretOf(content, kind.annotations, texts.subject);
  if (secret.kind === 'error') return failWith(rows.noCredentials, messages.noCredentials, secret.message);
  const secrets = yield* readSecret(run, rows.noCredentials, {
    reference: secret.value,
    // eslint-disable-next-line require-yield
    *failed({ message }) {
      return failWith(rows.noCredentials, messages.noCredentials, message);
    },
  });
  const notDeleted = ({ message }: { readonly message: string }): Conclusion =>
    failWith(rows.delete, messages.notDeleted(texts.subject, message), texts.notDeleted(name, message));
  const request = kind.planDeletion(content);
  if (request.kind === 'error') return notDeleted(request);
  yield* orEnd(perform(rows.delete, step.deleteSnapshot<T>, { ...request.value, ...secrets }), notDeleted);
  const notCleared = (cause: Error): Conclusion =>
    isNotFound(cause)
      ? conclude(rows.clear, done)
      : failWith(rows.clear, messages.notCleared, messages.notWritten(name, cause.message));
  const cleared = yield* orEnd(perform(rows.clear, step.clear<T>, content), notCleared);
  return kind.takesSnapshotAlong(cleared) ? notCleared(new Error(messages.statusRemains)) : yield* run.again(cleared);
}

/** Nothing is left to delete on the storage system, or it is to stay. Finalizers of others are not waited for. */
function* release<T extends ContentTypes>(run: Present<T>): Flow<Conclusion> {
  const { content, kind } = run;
  const { rows, finalizer } = kind;
  const isHeld = (one: T['content']): boolean => one.metadata?.finalizers?.includes(finalizer) === true;
  if (!isHeld(content)) return conclude(rows.release, done);
  const released = yield* orEnd(perform(rows.release, step.release<T>, content), (failure) =>
    isNotFound(failure)
      ? conclude(rows.release, done)
      : conclude(rows.release, retry(new Error(messages.notWritten(contentNameOf(content), failure.message)))),
  );
  if (!isHeld(released)) return conclude(rows.release, done);
  // The copy did not show what it has to delete, or its intent.
  return needOf(released, kind) === 'release'
    ? conclude(rows.release, retry(new Error(messages.finalizerRemains)))
    : yield* run.again(released);
}

/** An intent that a crash left behind, on a content that needs nothing else, or whose deletion waits for its removal. */
function* tidy<T extends ContentTypes>(run: Present<T>): Flow<Conclusion> {
  const { content, kind } = run;
  const row = kind.rows.ready;
  if (!isMarked(content, kind.annotations)) return conclude(row, done);
  const unmarked = yield* orEnd(perform(row, step.unmark<T>, content), (failure) =>
    conclude(row, retry(new Error(messages.notWritten(contentNameOf(content), failure.message)))),
  );
  return isMarked(unmarked, kind.annotations) ? conclude(row, done) : yield* run.again(unmarked);
}
