// SPDX-License-Identifier: Apache-2.0
/** Parts of the flows of both kinds, in the order in which a run comes to them. Pure; what each step does is in `steps.ts`. */
import {
  done,
  ending,
  finalizersWith,
  type Flow,
  isNotFound,
  keyOf,
  orEnd,
  type Outcome,
  perform,
  type RecordedEvent,
  retry,
} from '@csi-sidecars/runtime';
import { isBoundTo, mayBindTo } from '@csi-sidecars/volume';
import { classNamed, missingClass } from '../class-resolution.ts';
import { conclude, type Conclusion } from '../conclusions.ts';
import { isMarked } from '../content-mark.ts';
import { type AnyStatus, type ContentFacts, isReported, mergedStatus, type Problem } from '../status.ts';
import { isAnswered, updateError } from '../update-error.ts';
import type { AnySnapshot, Binding, Types } from './kind.ts';
import * as step from './steps.ts';

interface Failing extends Problem {
  /** Default: retry with the backoff. */
  readonly outcome?: Outcome;
  readonly events?: readonly RecordedEvent[];
}

/** Ends a run with a problem that the status of the snapshot shows. One that stands there already is not written again. */
export function* fail(row: string, snapshot: AnySnapshot, failing: Failing): Flow<Conclusion> {
  const { outcome, events = [], ...problem } = failing;
  if (!isReported(snapshot, problem)) {
    yield* orEnd(perform(row, step.saveError<Types>, snapshot, problem), (cause) =>
      conclude(row, retry(new Error(problem.message, { cause })), ...events),
    );
  }
  return conclude(row, outcome ?? retry(new Error(problem.message)), ...events);
}

/** The class that the snapshot names does not exist. */
export function missingClassOf<T extends Types>({ kind, classes, snapshot }: Binding<T>): Problem | undefined {
  const name = kind.classNameOf(snapshot);
  return name === undefined || classNamed(classes, name) !== undefined
    ? undefined
    : kind.messages.classFailed(missingClass(kind.classes, name));
}

/** For the metrics. Empty: it is not known. */
function driverOf<T extends Types>({ kind, content, classes, snapshot }: Binding<T>): string {
  return content?.spec?.driver ?? classNamed(classes, kind.classNameOf(snapshot))?.driver ?? '';
}

/** The metrics count from here. */
export function* begin<T extends Types>(run: Binding<T>): Flow<void> {
  const { kind, snapshot } = run;
  const { created, ready } = kind.operations;
  const names = snapshot.status?.creationTime === undefined ? [created, ready] : [ready];
  yield* perform(kind.rows.begin, step.begin<T>, snapshot, { names, driver: driverOf(run) });
}

/** A static snapshot names a content, and that one is static and not bound to another snapshot. The content may be missing. */
export function* expectStatic<T extends Types>({ kind, snapshot, content }: Binding<T>): Flow<void> {
  const { rows, messages } = kind;
  if (kind.expectedContentName(snapshot) === '') {
    throw ending(conclude(rows.noContentName, retry(new Error(messages.noContentName(keyOf(snapshot))))));
  }
  if (content === undefined) return;
  if (!kind.isStaticContent(content)) throw ending(yield* fail(rows.wrongOrigin, snapshot, messages.contentNotStatic));
  if (!mayBindTo(kind.referenceOf(content), snapshot)) {
    throw ending(yield* fail(rows.misbound, snapshot, messages.contentMisbound(nameOf(content))));
  }
}

/** A content of a dynamic snapshot, and of this one. */
export function* expectDynamic<T extends Types>({ kind, snapshot }: Binding<T>, content: T['content']): Flow<void> {
  const { rows, messages } = kind;
  if (!kind.isDynamicContent(content)) {
    throw ending(yield* fail(rows.wrongOrigin, snapshot, messages.contentNotDynamic(nameOf(content))));
  }
  if (!isBoundTo(kind.referenceOf(content), snapshot)) {
    throw ending(yield* fail(rows.misbound, snapshot, messages.contentMisbound(nameOf(content))));
  }
}

type Confirmed<T extends Types> = Pick<Binding<T>, 'snapshot' | 'isConfirmed'>;

/** Finalizers and class in one write, before anything that relies on them. */
export function* prepare<T extends Types>(run: Binding<T>, wanted: step.Preparation): Flow<Confirmed<T>> {
  const { kind, snapshot } = run;
  if (finalizersWith(snapshot, ...wanted.finalizers) === undefined && wanted.className === undefined) return run;
  const row = kind.rows.prepare;
  const prepared = yield* orEnd(perform(row, step.prepare<T>, snapshot, wanted), (failure) =>
    conclude(row, retry(failure), kind.messages.finalizerFailed(failure.message)),
  );
  return yield* unlessDeleted(run, prepared);
}

/**
 * For a snapshot that is gone a content would be made that belongs to nothing, a static content would be bound to it for ever, and a claim
 * would stay protected. Its finalizers were written by an earlier run, and the cache may be behind.
 */
export function* confirm<T extends Types>(run: Binding<T>, row: string): Flow<Confirmed<T>> {
  if (run.isConfirmed) return run;
  const found = yield* orEnd(perform(row, step.confirm<T>, run.snapshot), (failure) => conclude(row, retry(failure)));
  return yield* unlessDeleted(run, found);
}

function* unlessDeleted<T extends Types>(
  { content, again }: Binding<T>,
  snapshot: T['snapshot'] | undefined,
): Flow<Confirmed<T>> {
  if (snapshot !== undefined && snapshot.metadata?.deletionTimestamp === undefined) {
    return { snapshot, isConfirmed: true };
  }
  throw ending(yield* again({ snapshot, content }));
}

/** The run with the content of a static snapshot, which is bound to it and names its class if it has one. */
export function* bind<T extends Types>(
  run: Binding<T>,
  content: T['content'],
): Flow<Confirmed<T> & { readonly content: T['content'] }> {
  const { kind, snapshot } = run;
  // A class that the content has already stays.
  const needsClass = kind.classNameOf(snapshot) !== undefined && kind.classNameOf(content) === undefined;
  if (isBoundTo(kind.referenceOf(content), snapshot) && !needsClass) return { ...run, content };
  const { rows, messages } = kind;
  const there = yield* confirm(run, rows.bind);
  const bound = yield* orEnd(perform(rows.bind, step.bind<T>, there.snapshot, content), (failure) =>
    fail(rows.bind, there.snapshot, messages.bindFailed(failure.message)),
  );
  if (mayBindTo(kind.referenceOf(bound), there.snapshot)) return { ...there, content: bound };
  throw ending(yield* fail(rows.misbound, there.snapshot, messages.contentMisbound(nameOf(bound))));
}

/** The cache may be behind: the API server is asked. */
function askContent<T extends Types>({ kind, snapshot }: Binding<T>, row: string): Flow<T['content'] | undefined> {
  return orEnd(perform(row, step.askContent<T>, kind.contentNameFor(snapshot)), (failure) =>
    conclude(row, retry(failure)),
  );
}

/**
 * The content of a snapshot that was cut, and that the cache lacks. Another content would be another snapshot, of today's data. Undefined: it
 * was not cut.
 */
export function* cutContent<T extends Types>(run: Binding<T>): Flow<T['content'] | undefined> {
  const { rows, messages } = run.kind;
  if (!wasCut(run)) return undefined;
  const content = yield* askContent(run, rows.lostContent);
  if (content !== undefined) return content;
  throw ending(yield* fail(rows.lostContent, run.snapshot, messages.contentMissing));
}

/** It had been cut, or had lost its content. */
function wasCut<T extends Types>({ kind, snapshot }: Binding<T>): boolean {
  const { creationTime, readyToUse, error, restoreSize }: AnyStatus = snapshot.status ?? {};
  const isMissing = error?.message === kind.messages.contentMissing.message;
  return creationTime !== undefined || restoreSize !== undefined || readyToUse === true || isMissing;
}

/** The content as it is stored, which may be that of another snapshot. */
export function* createContent<T extends Types>(
  run: Binding<T>,
  creation: step.Creation<T>,
): Flow<Confirmed<T> & { readonly content: T['content'] }> {
  const { rows, messages } = run.kind;
  const there = yield* confirm(run, rows.create);
  const content = yield* orEnd(perform(rows.create, step.createContent<T>, there.snapshot, creation), (failure) =>
    fail(rows.create, there.snapshot, messages.creationFailed(updateError(keyOf(run.snapshot), failure.message))),
  );
  return { ...there, content };
}

/** The status of the snapshot follows that of its content. `readiness`: what becomes of it if the status cannot be written. */
export function* followContent<T extends Types>(
  { kind, snapshot, content }: Binding<T> & { readonly content: T['content'] },
  facts: ContentFacts,
  readiness: Problem['readiness'],
): Flow<Conclusion> {
  const { rows, messages, fields } = kind;
  const bound = { field: fields.bound, name: nameOf(content) };
  if (mergedStatus(snapshot.status, facts, bound) === undefined) return conclude(rows.followed, done);
  yield* orEnd(perform(rows.status, step.saveStatus<T>, snapshot, { content, facts }), (failure) =>
    // Deleted meanwhile: there is nothing left to report it on. Without an answer the status may have been written, and an error would stay.
    isNotFound(failure) || !isAnswered(failure)
      ? conclude(rows.status, retry(failure))
      : fail(rows.status, snapshot, messages.statusFailed(updateError(keyOf(snapshot), failure.message), readiness)),
  );
  return conclude(rows.followed, done);
}

/** The content of a snapshot that is ready. It is there, and bound to the snapshot. */
export function* readyContent<T extends Types>(run: Binding<T>): Flow<T['content']> {
  const { kind, snapshot } = run;
  const { rows, messages } = kind;
  const content = run.content ?? (yield* askContent(run, rows.noContent));
  if (content === undefined)
    throw ending(yield* fail(rows.noContent, snapshot, { ...messages.contentMissing, ...notRetried }));
  const reference = kind.referenceOf(content);
  if (isBoundTo(reference, snapshot)) return content;
  const name = nameOf(content);
  // A static content that was made again belongs to none yet, and is bound when the snapshot is not ready any more.
  const isFree = kind.isStatic(snapshot) && mayBindTo(reference, snapshot);
  throw ending(
    name === kind.expectedContentName(snapshot) && !isFree
      ? yield* fail(rows.misbound, snapshot, messages.contentMisbound(name))
      : yield* fail(rows.misboundReady, snapshot, { ...messages.misbound, ...notRetried }),
  );
}

/** The class is needed by nothing that is still to be done, and its arrival wakes the snapshot. */
export function* expectClass<T extends Types>(run: Binding<T>): Flow<void> {
  const withoutClass = missingClassOf(run);
  if (withoutClass !== undefined) {
    throw ending(yield* fail(run.kind.rows.noClass, run.snapshot, { ...withoutClass, ...notRetried }));
  }
}

const notRetried = { outcome: done };

/** The metrics of the deletion count from here. */
export function* beginDeletion<T extends Types>(run: Binding<T>): Flow<void> {
  const { rows, operations } = run.kind;
  yield* perform(rows.beginDeletion, step.begin<T>, run.snapshot, {
    names: [operations.deleted],
    driver: driverOf(run),
  });
}

/** The content of a snapshot that is being deleted. `mayBeUnseen`: the cache may be behind, and the API server is asked. */
export function* contentToDelete<T extends Types>(
  run: Binding<T>,
  mayBeUnseen: boolean,
): Flow<T['content'] | undefined> {
  const known = mayBeUnseen ? yield* askContent(run, run.kind.rows.askForDeletion) : run.content;
  return known !== undefined && run.kind.isContentOf(run.snapshot, known) ? known : undefined;
}

/** The content is marked, and on its way if it has to go. Undefined: it belongs to another snapshot by now. */
export function* removeContent<T extends Types>(
  { kind, snapshot }: Binding<T>,
  content: T['content'],
): Flow<T['content'] | undefined> {
  const { rows, messages, isContentOf } = kind;
  const marked = isMarked(content, kind.mark)
    ? content
    : yield* orEnd(perform(rows.mark, step.markContent<T>, snapshot, content), (failure) =>
        conclude(rows.mark, retry(failure)),
      );
  if (!isContentOf(snapshot, marked)) return undefined;
  if (marked.spec?.deletionPolicy !== 'Delete' || marked.metadata?.deletionTimestamp !== undefined) return marked;
  const deleted = yield* orEnd(perform(rows.deleteContent, step.deleteContent<T>, snapshot, marked), (failure) =>
    conclude(rows.deleteContent, retry(failure), messages.contentNotDeleted),
  );
  return isContentOf(snapshot, deleted ?? marked) ? (deleted ?? marked) : undefined;
}

function nameOf({ metadata }: { readonly metadata?: { readonly name?: string } }): string {
  return metadata?.name ?? '';
}
