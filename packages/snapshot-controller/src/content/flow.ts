// SPDX-License-Identifier: Apache-2.0
/** Rows C1 to C5, K1 to K5, and L1 to L4, which both kinds have. Pure. */
import {
  done,
  finalizersWith,
  type Flow,
  type KubeObject,
  orEnd,
  perform,
  type RecordedEvent,
  retry,
  type Run,
} from '@csi-sidecars/runtime';
import { annotationYes, type ContentReference, isBoundTo } from '@csi-sidecars/volume';
import { conclude, type Conclusion } from '../conclusions.ts';
import { isMarked } from '../content-mark.ts';
import { updateError } from '../update-error.ts';
import { markContent, prepareObject, readObject, type Writing } from '../writes.ts';
import type { AnyContent, ContentKind } from './kinds.ts';

export interface Observed<C extends AnyContent> {
  /** Undefined: it is gone. */
  readonly content: C | undefined;
  /** The cache shows the owner, with the UID that the content names. */
  readonly isOwned: boolean;
}

export function* lookAfter<C extends AnyContent, O extends KubeObject>(
  { content, isOwned }: Observed<C>,
  kind: ContentKind<C, O>,
): Flow<Conclusion> {
  const { rows, invalid, mark } = kind;
  if (content === undefined) return conclude(rows.gone, done);
  if (!kind.isValid(content)) return conclude(rows.invalid, retry(new Error(invalid.message)), invalid);
  const reference = kind.referenceOf(content);
  // It has nothing to protect yet.
  if (reference === undefined || (reference.uid ?? '') === '') return conclude(rows.unbound, done);
  if (content.metadata?.deletionTimestamp !== undefined) {
    return isOwned ? conclude('L1', done) : yield* lookAfterLeft(content, reference, kind);
  }
  if (finalizersWith(content, mark.finalizer) === undefined) return conclude(rows.settled, done);
  yield* orEnd(perform(rows.unprotected, protect<C, O>, content), (cause) => {
    const message = updateError(content.metadata?.name ?? '', cause.message);
    return conclude(rows.unprotected, retry(new Error(message, { cause })));
  });
  return conclude(rows.settled, done);
}

/**
 * csi-snapshotter waits for a mark that only the loop of the owner sets. Where the mark deletes nothing in the storage it is set for an owner
 * that is gone as well; where it does, a person has to decide.
 */
function* lookAfterLeft<C extends AnyContent, O extends KubeObject>(
  content: C,
  reference: ContentReference,
  kind: ContentKind<C, O>,
): Flow<Conclusion> {
  const isHeld = finalizersWith(content, kind.mark.finalizer) === undefined && !isMarked(content, kind.mark);
  if (!isHeld) return conclude('L1', done);
  const isOwned = yield* orEnd(perform('L2', askOwner<C, O>, reference), (failure) => conclude('L2', retry(failure)));
  if (isOwned) return conclude('L1', done);
  if (!kind.isKept(content)) return conclude('L4', done, left(content, kind));
  yield* orEnd(perform('L3', markLeft<C, O>, content), (failure) => conclude('L3', retry(failure)));
  return conclude('L1', done);
}

function left<C extends AnyContent, O extends KubeObject>(
  { metadata }: C,
  { resource, owners, mark }: ContentKind<C, O>,
): RecordedEvent {
  const target = `${resource.kind.toLowerCase()} ${metadata?.name}`;
  const message = `Its ${owners.kind} is gone, and its data in the storage are deleted only if a person says so. To delete them: kubectl annotate ${target} ${mark.annotation}=${annotationYes}; to keep them: kubectl patch ${target} --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`;
  return { type: 'Warning', reason: 'ContentDeletePending', message };
}

/** The compiler does not see that a content is an object of the API as long as its kind is open. */
type ContentRun<C extends AnyContent, O extends KubeObject> = Pick<
  Run<never, never>,
  'client' | 'clock' | 'random' | 'signal'
> & {
  readonly context: ContentKind<C, O>;
  readonly caches: { readonly contents: Writing<C>['cache']; readonly owners: Writing<O>['cache'] };
};

async function protect<C extends AnyContent, O extends KubeObject>(run: ContentRun<C, O>, content: C): Promise<void> {
  await prepareObject(contentsOf(run), content, { finalizers: [run.context.mark.finalizer], spec: {} });
}

/** Whether the API server has the owner. */
async function askOwner<C extends AnyContent, O extends KubeObject>(
  { caches, context, ...ports }: ContentRun<C, O>,
  reference: ContentReference,
): Promise<boolean> {
  const found = await readObject({ ...ports, resource: context.owners, cache: caches.owners }, reference);
  return found !== undefined && isBoundTo(reference, found);
}

async function markLeft<C extends AnyContent, O extends KubeObject>(run: ContentRun<C, O>, content: C): Promise<void> {
  const { mark, referenceOf, isKept } = run.context;
  const isIts = (known: C): boolean => isKept(known) && referenceOf(known)?.uid === referenceOf(content)?.uid;
  await markContent(contentsOf(run), content, { mark, isIts });
}

function contentsOf<C extends AnyContent, O extends KubeObject>({
  caches,
  context,
  ...ports
}: ContentRun<C, O>): Writing<C> {
  return { ...ports, resource: context.resource, cache: caches.contents };
}
