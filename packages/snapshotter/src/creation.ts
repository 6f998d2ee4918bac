// SPDX-License-Identifier: Apache-2.0
/**
 * A snapshot is taken, from top to bottom. Pure.
 *
 * The intent is persisted before the call, and removed after its answer is recorded: while it is there, the content is not deleted. Everything
 * that can be checked is checked before, so that nothing but an open call leaves the intent behind.
 */
import {
  done,
  ending,
  type Flow,
  orEnd,
  perform,
  type RecordedEvent,
  requeueAfter,
  retry,
  toError,
} from '@csi-sidecars/runtime';
import { outcomeOfCreation } from './call-outcome.ts';
import {
  contentNameOf,
  isDeletionHeld,
  isFullyMarked,
  isMarked,
  isToBeDeleted,
  isWithdrawn,
} from './content-object.ts';
import type { Conclusion, ContentKind, ContentTypes } from './content-types.ts';
import * as messages from './messages.ts';
import { withdrawn } from './names.ts';
import * as step from './steps.ts';

import { after, recordPlaces } from './places.ts';
import { conclude, fail, finish, needOf, type Present, readSecret } from './run.ts';

export function* create<T extends ContentTypes>(first: Present<T>): Flow<Conclusion> {
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
  return yield* recordCreation({ ...run, content: now ?? run.content }, answer, plan.value.unhonoured);
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
  if (needOf(content, kind) !== 'create') throw ending(yield* run.again(content));
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
  if (!isMarkedStill || needOf(content, run.kind) !== 'create') throw ending(yield* run.again(content));
  return { ...run, content };
}

type Answer<T extends ContentTypes> = Awaited<ReturnType<typeof step.create<T>>>;

/** What the driver answered is recorded, whatever became of the content meanwhile. */
function* recordCreation<T extends ContentTypes>(
  run: Present<T>,
  answer: Answer<T> | Error,
  unhonoured: RecordedEvent | undefined,
): Flow<Conclusion> {
  const { content, kind } = run;
  const { rows, messages: texts } = kind;
  const volumes = kind.volumesOf(content);
  if (answer instanceof Error) {
    const cause = texts.notTaken(volumes, answer.message);
    return outcomeOfCreation(answer) === 'open'
      ? yield* failOpen(run, rows.open, cause)
      : yield* failFinally(run, cause);
  }
  const taken = kind.readCreated(answer);
  if (taken.kind === 'error') return yield* failOpen(run, rows.unusable, texts.notTaken(volumes, taken.message));
  const recorded = yield* recordPlaces(run, taken.value, (row, cause) => failOpen(run, row, cause));
  // A driver that is not sent the topologies of a class has none recorded.
  const events = unhonoured === undefined ? recorded.events : [unhonoured];
  return yield* after(events, saveTaken({ ...run, content: recorded.content }, taken.value));
}

/** The status, then the intent goes. */
function* saveTaken<T extends ContentTypes>(run: Present<T>, taken: T['taken']): Flow<Conclusion> {
  const { content, kind, isFirst } = run;
  const { rows, messages: texts, annotations } = kind;
  const name = contentNameOf(content);
  const saved = yield* orEnd(perform(rows.save, step.saveTaken<T>, content, taken), (failure) =>
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
