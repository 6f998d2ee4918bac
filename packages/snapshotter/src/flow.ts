// SPDX-License-Identifier: Apache-2.0
/**
 * What happens to a content, from top to bottom and for both kinds: a snapshot is taken, asked for until it is ready, and deleted. Rows C1
 * to C26 and G1 to G25 of the page of csi-snapshotter. Pure; what each step does is in `steps.ts`, and in what the kinds differ in `content/`
 * and `group-content/`.
 *
 * The intent is persisted before a call that takes a snapshot, and removed after its answer is recorded: while it is there, the content is
 * not deleted. Everything that can be checked is checked before, so that nothing but an open call leaves the intent behind.
 */
import {
  done,
  ending,
  type Flow,
  isNotFound,
  orEnd,
  type Outcome,
  perform,
  postpone,
  type RecordedEvent,
  requeueAfter,
  retry,
  toError,
} from '@csi-sidecars/runtime';
import type { SecretReference } from '@csi-sidecars/volume';
import { outcomeOfCreation } from './call-outcome.ts';
import {
  contentNameOf,
  isDeletionHeld,
  isFullyMarked,
  isMarked,
  isReady,
  isToBeDeleted,
  isWithdrawn,
} from './content-object.ts';
import type { Conclusion, ContentKind, ContentTypes, FlowContext, Observed } from './content-types.ts';
import * as messages from './messages.ts';
import { withdrawn } from './names.ts';
import { annotatedSecretOf } from './secrets.ts';
import * as step from './steps.ts';

/** A run about a content that is there. */
interface Present<T extends ContentTypes> extends Observed<T> {
  readonly content: T['content'];
  readonly kind: ContentKind<T>;
  readonly context: FlowContext;
}

/** What the content needs. A write of this run, or of another program meanwhile, may change it. */
type Need = 'release' | 'delete' | 'nothing' | 'query' | 'group' | 'create';

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
  const run = { ...seen, content, kind, context };
  switch (needOf(content, kind)) {
    case 'delete':
      return yield* remove(run);
    case 'release':
      return yield* release(run);
    case 'nothing':
      return yield* tidy(run);
    case 'query':
      return yield* query(run);
    case 'group':
      // snapshot-controller fills in what the group's content says.
      return conclude('C9', postpone('the status of a group member is not filled in'));
    case 'create':
      return yield* create(run);
  }
}

function needOf<T extends ContentTypes>(content: T['content'], kind: ContentKind<T>): Need {
  if (isToBeDeleted(content, kind)) return kind.takesSnapshotAlong(content) ? 'delete' : 'release';
  if (isReady(content)) return 'nothing';
  return kind.wayOf(content);
}

/** Goes on with the content as it is now, from the top: it has changed in a way that matters. */
function again<T extends ContentTypes>(run: Present<T>, content: T['content'] | undefined): Flow<Conclusion> {
  return handle({ ...run, content }, run.kind, run.context);
}

/**
 * A request may wait for its turn for long, and nothing guards the call that follows: the content may have been deleted by now, or its policy
 * may be to keep the snapshot. Then the run goes on from the top.
 */
function* readSecret<T extends ContentTypes>(
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
  if (now?.metadata?.resourceVersion !== run.content.metadata?.resourceVersion) throw ending(yield* again(run, now));
  return { secrets };
}

function* create<T extends ContentTypes>(first: Present<T>): Flow<Conclusion> {
  const { kind, context } = first;
  const { rows, annotations, messages: texts } = kind;
  const name = contentNameOf(first.content);
  if (isWithdrawn(first.content, annotations)) return conclude(rows.withdrawn, done);
  let run = first;
  let isConfirmed = false;
  // Before anything that may prevent the next call: if the other half is lost too, nothing shows that the last call is open.
  if (isMarked(run.content, annotations) && !isFullyMarked(run.content, annotations)) {
    run = yield* mark(run);
    isConfirmed = true;
  }
  const plan = kind.planCreation(run.content, run.class, context);
  if (plan.kind === 'error') return yield* failCreation(run, rows.noRequest, plan.message);
  const { request, reference } = plan.value;
  const secrets = yield* readSecret(run, rows.secret, {
    reference,
    failed: () =>
      failCreation(run, rows.secret, texts.noInput(name, messages.annotatedSecretUnreadable(texts.subject, name))),
  });
  if (!isMarked(run.content, annotations)) run = yield* mark(run);
  // A snapshot that is taken for a content that is gone belongs to none.
  else if (!isConfirmed) run = yield* confirm(run);
  let answer: Answer<T> | Error;
  try {
    answer = yield* perform(rows.create, step.create<T>, { ...request, ...secrets });
  } catch (error) {
    answer = toError(error);
  }
  // What happened to a content during the call matters. That it is gone is shown by the writes that follow.
  const now = yield* perform(rows.create, step.look<T>, run.content);
  return yield* recordCreation({ ...run, content: now ?? run.content }, answer);
}

/** The content with its intent: from here on a call may be under way. */
function* mark<T extends ContentTypes>(run: Present<T>): Flow<Present<T>> {
  const { kind } = run;
  const { rows, messages: texts } = kind;
  const name = contentNameOf(run.content);
  const content = yield* orEnd(perform(rows.mark, step.mark<T>, run.content), (failure) =>
    failCreation(run, rows.mark, texts.notMarked(name, messages.notWritten(name, failure.message))),
  );
  const marked = { ...run, content };
  if (needOf(content, kind) !== 'create') throw ending(yield* again(run, content));
  if (isMarked(content, kind.annotations)) return marked;
  // An admission webhook may drop it. Without a persisted intent there is no call.
  throw ending(yield* failCreation(marked, rows.mark, texts.notMarked(name, messages.markVanished)));
}

function* confirm<T extends ContentTypes>(run: Present<T>): Flow<Present<T>> {
  const { rows, messages: texts } = run.kind;
  const name = contentNameOf(run.content);
  const content = yield* orEnd(perform(rows.mark, step.confirm<T>, run.content), (failure) =>
    failCreation(run, rows.mark, messages.notRead(texts.subject, name, failure.message)),
  );
  const isMarkedStill = content !== undefined && isMarked(content, run.kind.annotations);
  if (!isMarkedStill || needOf(content, run.kind) !== 'create') throw ending(yield* again(run, content));
  return { ...run, content };
}

type Answer<T extends ContentTypes> = Awaited<ReturnType<typeof step.create<T>>>;

/** What the driver answered is recorded, whatever became of the content meanwhile. */
function* recordCreation<T extends ContentTypes>(run: Present<T>, answer: Answer<T> | Error): Flow<Conclusion> {
  const { content, kind, isFirst } = run;
  const { rows, messages: texts, annotations } = kind;
  const name = contentNameOf(content);
  const volumes = kind.volumesOf(content);
  if (answer instanceof Error) {
    const cause = texts.notTaken(volumes, answer.message);
    return outcomeOfCreation(answer) === 'open'
      ? yield* failOpen(run, rows.open, cause)
      : yield* failFinally(run, cause);
  }
  const taken = kind.readCreated(answer);
  if (taken.kind === 'error') return yield* failOpen(run, rows.unusable, texts.notTaken(volumes, taken.message));
  const saved = yield* orEnd(perform(rows.save, step.saveTaken<T>, content, taken.value), (failure) =>
    failOpen(run, rows.save, texts.notSaved(name, messages.notWritten(name, failure.message))),
  );
  if (!isMarked(saved, annotations)) return finish(saved, kind);
  const { reason, prefix } = isFirst ? texts.creating : texts.checking;
  // The snapshot is as good as the driver says: the status keeps that.
  const stays = (cause: string): Conclusion => {
    const message = prefix + texts.notUnmarked(name, cause);
    return conclude(rows.unmark, retry(new Error(message)), messages.warning(reason, message));
  };
  const unmarked = yield* orEnd(perform(rows.unmark, step.unmark<T>, saved), (failure) =>
    stays(messages.notWritten(name, failure.message)),
  );
  return isMarked(unmarked, annotations) ? stays(messages.markRemains) : finish(unmarked, kind);
}

/** After a final answer nothing is under way: the annotation goes before the failure is shown. */
function* failFinally<T extends ContentTypes>(run: Present<T>, cause: string): Flow<Conclusion> {
  const { content, kind } = run;
  const { rows, messages: texts } = kind;
  const name = contentNameOf(content);
  if (!isMarked(content, kind.annotations)) return yield* endFinally(run, cause);
  const unmarked = yield* orEnd(perform(rows.refused, step.unmark<T>, content), (failure) =>
    failCreation(run, rows.refused, texts.notUnmarkedAfterFailure(name, messages.notWritten(name, failure.message))),
  );
  return yield* endFinally({ ...run, content: unmarked }, cause);
}

function* endFinally<T extends ContentTypes>(run: Present<T>, cause: string): Flow<Conclusion> {
  const failed = yield* failCreation(run, run.kind.rows.refused, cause);
  return isToBeDeleted(run.content, run.kind) ? { ...failed, outcome: requeueAfter(0) } : failed;
}

/** The intent has to stay, and another program may have removed it during the call, or a part of it. */
function* failOpen<T extends ContentTypes>(run: Present<T>, row: string, cause: string): Flow<Conclusion> {
  const { content, kind } = run;
  const isWhole = isFullyMarked(content, kind.annotations) || isWithdrawn(content, kind.annotations);
  let restored = content;
  try {
    if (!isWhole) restored = yield* perform(row, step.restoreMark<T>, content);
  } catch {
    // The next attempt restores it.
  }
  return yield* failCreation({ ...run, content: restored }, row, cause);
}

function* failCreation<T extends ContentTypes>(run: Present<T>, row: string, cause: string): Flow<Conclusion> {
  const { kind, isFirst } = run;
  // Upstream's words: the first attempt creates, every later one checks.
  const { content, ...failed } = yield* fail(run, {
    row,
    procedure: isFirst ? kind.messages.creating : kind.messages.checking,
    cause,
  });
  const isHeld = row !== kind.rows.refused && isDeletionHeld(content, kind.annotations);
  return isHeld
    ? { ...failed.conclusion, events: [...failed.conclusion.events, heldUp(content, kind)] }
    : failed.conclusion;
}

/** Each attempt records it, so that a person finds the way out. */
function heldUp<T extends ContentTypes>(content: T['content'], kind: ContentKind<T>): RecordedEvent {
  const { methods, messages: texts, annotations } = kind;
  const call = methods.create.slice(methods.create.lastIndexOf('/') + 1);
  const object = `${texts.resource} ${contentNameOf(content)}`;
  const label = `${annotations.beingCreated}=${withdrawn}`;
  return messages.warning(texts.deleteReason, messages.deletionHeld(call, object, label));
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
  const { request, reference, secretOf, assumed, readAnswer } = plan.value;
  const secrets = yield* readSecret(run, rows.querySecret, {
    reference,
    failed: ({ message }) =>
      failQuery(
        rows.querySecret,
        secretOf === 'annotations'
          ? texts.noMemberSecret(name, messages.annotatedSecretUnreadable(texts.subject, name))
          : texts.noQuerySecret(name, message),
      ),
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
  const saved = yield* orEnd(perform(rows.save, step.saveTaken<T>, content, taken), (failure) =>
    failQuery(rows.save, messages.notWritten(name, failure.message)),
  );
  return finish(saved, kind);
}

/** The answer of the driver is recorded. Polling goes on with the backoff that failures have as well. */
function finish<T extends ContentTypes>(content: T['content'], kind: ContentKind<T>): Conclusion {
  const { rows } = kind;
  // Its deletion was asked for during the run. Own writes wake no key.
  if (isToBeDeleted(content, kind)) return conclude(rows.deletedMeanwhile, requeueAfter(0));
  return isReady(content)
    ? conclude(rows.finished, done)
    : conclude(rows.notReady, postpone('the snapshot is not ready'));
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
  return kind.takesSnapshotAlong(cleared) ? notCleared(new Error(messages.statusRemains)) : yield* again(run, cleared);
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
    : yield* again(run, released);
}

/** An intent that a crash left behind, on a content that needs nothing else, or whose deletion waits for its removal. */
function* tidy<T extends ContentTypes>(run: Present<T>): Flow<Conclusion> {
  const { content, kind } = run;
  const row = kind.rows.ready;
  if (!isMarked(content, kind.annotations)) return conclude(row, done);
  const unmarked = yield* orEnd(perform(row, step.unmark<T>, content), (failure) =>
    conclude(row, retry(new Error(messages.notWritten(contentNameOf(content), failure.message)))),
  );
  return isMarked(unmarked, kind.annotations) ? conclude(row, done) : yield* again(run, unmarked);
}

interface Failure {
  readonly row: string;
  readonly procedure: messages.Procedure;
  readonly cause: string;
}

/** The status shows the failure, then an event reports it. A failure that the status shows already is retried silently. */
function* fail<T extends ContentTypes>(
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

function conclude(row: string, outcome: Outcome, ...events: readonly RecordedEvent[]): Conclusion {
  return { row, kind: 'conclude', outcome, events };
}
