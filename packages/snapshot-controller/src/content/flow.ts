// SPDX-License-Identifier: Apache-2.0
/** Rows C1 to C5, K1 to K5, and L1 to L4, which both kinds have. Pure. */
import {
  done,
  finalizersWith,
  type Flow,
  orEnd,
  perform,
  type RecordedEvent,
  retry,
  type Run,
} from '@csi-sidecars/runtime';
import { annotationYes, type ContentReference, isBoundTo } from '@csi-sidecars/volume';
import type { AnyContent, AnySnapshot } from '../binding/kind.ts';
import { conclude, type Conclusion } from '../conclusions.ts';
import { isMarked } from '../content-mark.ts';
import { updateError } from '../update-error.ts';
import { markContent, prepareObject, readObject, type Writing } from '../writes.ts';
import type { ContentKind } from './kinds.ts';

export interface Observed<C extends AnyContent> {
  /** Undefined: it is gone. */
  readonly content: C | undefined;
  /** The cache shows its snapshot or group, with the UID that the content names. */
  readonly hasSnapshot: boolean;
}

export function* lookAfter<C extends AnyContent, S extends AnySnapshot>(
  { content, hasSnapshot }: Observed<C>,
  kind: ContentKind<C, S>,
): Flow<Conclusion> {
  const { rows, invalid, mark } = kind;
  if (content === undefined) return conclude(rows.gone, done);
  if (!kind.isValid(content)) return conclude(rows.invalid, retry(new Error(invalid.message)), invalid);
  const reference = kind.referenceOf(content);
  // It has nothing to protect yet.
  if (reference === undefined || (reference.uid ?? '') === '') return conclude(rows.unbound, done);
  if (content.metadata?.deletionTimestamp !== undefined) {
    return hasSnapshot ? conclude('L1', done) : yield* lookAfterLeft(content, reference, kind);
  }
  if (finalizersWith(content, mark.finalizer) === undefined) return conclude(rows.settled, done);
  yield* orEnd(perform(rows.unprotected, protect<C, S>, content), (cause) => {
    const message = updateError(content.metadata?.name ?? '', cause.message);
    return conclude(rows.unprotected, retry(new Error(message, { cause })));
  });
  return conclude(rows.settled, done);
}

/**
 * csi-snapshotter waits for a mark that only the loop of the snapshot sets. Where the mark deletes nothing in the storage it is set for a
 * snapshot that is gone as well; where it does, a person has to decide.
 */
function* lookAfterLeft<C extends AnyContent, S extends AnySnapshot>(
  content: C,
  reference: ContentReference,
  kind: ContentKind<C, S>,
): Flow<Conclusion> {
  const isHeld = finalizersWith(content, kind.mark.finalizer) === undefined && !isMarked(content, kind.mark);
  if (!isHeld) return conclude('L1', done);
  const hasSnapshot = yield* orEnd(perform('L2', askSnapshot<C, S>, reference), (failure) =>
    conclude('L2', retry(failure)),
  );
  if (hasSnapshot) return conclude('L1', done);
  if (!kind.isKept(content)) return conclude('L4', done, left(content, kind));
  yield* orEnd(perform('L3', markLeft<C, S>, content), (failure) => conclude('L3', retry(failure)));
  return conclude('L1', done);
}

function left<C extends AnyContent, S extends AnySnapshot>(
  { metadata }: C,
  { contents, snapshots, mark }: ContentKind<C, S>,
): RecordedEvent {
  const target = `${contents.kind.toLowerCase()} ${metadata?.name}`;
  const message = `Its ${snapshots.kind} is gone, and its data in the storage are deleted only if a person says so. To delete them: kubectl annotate ${target} ${mark.annotation}=${annotationYes}; to keep them: kubectl patch ${target} --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`;
  return { type: 'Warning', reason: 'ContentDeletePending', message };
}

/** The compiler does not see that a content is an object of the API as long as its kind is open. */
type ContentRun<C extends AnyContent, S extends AnySnapshot> = Pick<
  Run<never>,
  'client' | 'clock' | 'random' | 'signal'
> & {
  readonly context: ContentKind<C, S>;
  readonly caches: { readonly contents: Writing<C>['cache']; readonly snapshots: Writing<S>['cache'] };
};

async function protect<C extends AnyContent, S extends AnySnapshot>(run: ContentRun<C, S>, content: C): Promise<void> {
  await prepareObject(contentsOf(run), content, { finalizers: [run.context.mark.finalizer], spec: {} });
}

/** Whether the API server has the snapshot or group. */
async function askSnapshot<C extends AnyContent, S extends AnySnapshot>(
  { caches, context, ...ports }: ContentRun<C, S>,
  reference: ContentReference,
): Promise<boolean> {
  const found = await readObject({ ...ports, resource: context.snapshots, cache: caches.snapshots }, reference);
  return found !== undefined && isBoundTo(reference, found);
}

async function markLeft<C extends AnyContent, S extends AnySnapshot>(run: ContentRun<C, S>, content: C): Promise<void> {
  const { mark, referenceOf, isKept } = run.context;
  const isIts = (known: C): boolean => isKept(known) && referenceOf(known)?.uid === referenceOf(content)?.uid;
  await markContent(contentsOf(run), content, { mark, isIts });
}

function contentsOf<C extends AnyContent, S extends AnySnapshot>({
  caches,
  context,
  ...ports
}: ContentRun<C, S>): Writing<C> {
  return { ...ports, resource: context.contents, cache: caches.contents };
}
