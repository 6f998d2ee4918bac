// SPDX-License-Identifier: Apache-2.0
/** Rows C1 to C5, K1 to K5, and L1 to L4, which both kinds have. Pure; first match wins. */
import { done, finalizersWith, isFailed, type KubeObject, type RecordedEvent, retry } from '@csi-sidecars/runtime';
import { annotationYes, type ContentReference } from '@csi-sidecars/volume';
import { conclude } from '../conclusions.ts';
import { isMarked } from '../content-mark.ts';
import { updateError } from '../update-error.ts';
import type { AnyContent, ContentKind } from './kinds.ts';
import type { ContentAction, ContentState } from './state.ts';

export function decide<C extends AnyContent, O extends KubeObject>(
  s: ContentState<C>,
  kind: ContentKind<C, O>,
): ContentAction<C> {
  const { rows, invalid, mark } = kind;
  const { content } = s;
  if (content === undefined) return conclude(rows.gone, done);
  if (!kind.isValid(content)) return conclude(rows.invalid, retry(new Error(invalid.message)), invalid);
  const reference = kind.referenceOf(content);
  // It has nothing to protect yet.
  if (reference === undefined || (reference.uid ?? '') === '') return conclude(rows.unbound, done);
  if (content.metadata?.deletionTimestamp !== undefined) return decideLeft(s, { content, reference, kind });
  if (isFailed(s.protected)) {
    const { failure } = s.protected;
    const message = updateError(content.metadata?.name ?? '', failure.message);
    return conclude(rows.unprotected, retry(new Error(message, { cause: failure })));
  }
  const isSettled = s.protected === 'done' || finalizersWith(content, mark.finalizer) === undefined;
  return isSettled ? conclude(rows.settled, done) : { row: rows.unprotected, kind: 'protect', content };
}

interface Left<C extends AnyContent, O extends KubeObject> {
  readonly content: C;
  readonly reference: ContentReference;
  readonly kind: ContentKind<C, O>;
}

/**
 * csi-snapshotter waits for a mark that only the loop of the owner sets. Where the mark deletes nothing in the storage it is set for an owner
 * that is gone as well; where it does, a person has to decide.
 */
function decideLeft<C extends AnyContent, O extends KubeObject>(
  s: ContentState<C>,
  { content, reference, kind }: Left<C, O>,
): ContentAction<C> {
  const { ownerAsked, marked } = s;
  const isHeld = finalizersWith(content, kind.mark.finalizer) === undefined && !isMarked(content, kind.mark);
  if (!isHeld || s.isOwned || marked === 'done') return conclude('L1', done);
  if (ownerAsked === 'unasked') return { row: 'L2', kind: 'askOwner', reference };
  if (isFailed(ownerAsked)) return conclude('L2', retry(ownerAsked.failure));
  if (ownerAsked.value) return conclude('L1', done);
  if (!kind.isKept(content)) return conclude('L4', done, left(content, kind));
  return isFailed(marked) ? conclude('L3', retry(marked.failure)) : { row: 'L3', kind: 'mark', content };
}

function left<C extends AnyContent, O extends KubeObject>(
  { metadata }: C,
  { resource, owners, mark }: ContentKind<C, O>,
): RecordedEvent {
  const target = `${resource.kind.toLowerCase()} ${metadata?.name}`;
  const message = `Its ${owners.kind} is gone, and its data in the storage are deleted only if a person says so. To delete them: kubectl annotate ${target} ${mark.annotation}=${annotationYes}; to keep them: kubectl patch ${target} --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`;
  return { type: 'Warning', reason: 'ContentDeletePending', message };
}
