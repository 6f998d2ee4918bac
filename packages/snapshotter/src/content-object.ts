// SPDX-License-Identifier: Apache-2.0
/**
 * What single fields of a content mean, for both kinds.
 *
 * The intent is an annotation, as upstream's, and a label of the same name. Upstream's snapshot-controller writes all annotations from a copy
 * that may be older than the intent, as often as that copy is old. It writes no labels, so the label still shows the intent then. That an
 * intent is absent therefore says nothing about the will of a person; the value `withdrawn` of the label does.
 */
import type { AnyContent, ContentAnnotations, ContentKind, ContentTypes } from './content-types.ts';
import { withdrawn } from './names.ts';

export function contentNameOf({ metadata }: AnyContent): string {
  return metadata?.name ?? '';
}

export function hasAnnotation({ metadata }: AnyContent, name: string): boolean {
  return Object.hasOwn(metadata?.annotations ?? {}, name);
}

/** A call to take the snapshot may be under way, or may have had an effect that is not recorded. */
export function isMarked(content: AnyContent, annotations: ContentAnnotations): boolean {
  const { beingCreated } = annotations;
  const isThere = hasAnnotation(content, beingCreated) || markLabelOf(content, annotations) !== undefined;
  return isThere && !isWithdrawn(content, annotations);
}

/** The intent is there, and no write of another program has removed half of it. */
export function isFullyMarked(content: AnyContent, annotations: ContentAnnotations): boolean {
  const label = markLabelOf(content, annotations);
  return hasAnnotation(content, annotations.beingCreated) && label !== undefined && label !== withdrawn;
}

/** An administrator gives up what the driver may have. Only for a content that is being deleted: any other is to have its snapshot. */
export function isWithdrawn(content: AnyContent, annotations: ContentAnnotations): boolean {
  const isDeleting = content.metadata?.deletionTimestamp !== undefined;
  return isDeleting && markLabelOf(content, annotations) === withdrawn;
}

export function markLabelOf({ metadata }: AnyContent, { beingCreated }: ContentAnnotations): string | undefined {
  return metadata?.labels?.[beingCreated];
}

export function isReady({ status }: AnyContent): boolean {
  return status?.readyToUse === true;
}

/** Absent, not empty: no attempt has ended yet. */
export function hasStatus({ status }: AnyContent): boolean {
  return status !== undefined;
}

/** An empty handle names nothing. */
export function handleOf(handle: string | undefined): string | undefined {
  return handle === '' ? undefined : handle;
}

/**
 * The id to be recorded, undefined if the known one stays. An id that changes means that what had the first one is gone. Users know the snapshot
 * by that one, but the deletion of the content has to delete what is there.
 */
export function newHandleOf(
  { metadata }: AnyContent,
  { known, taken }: { readonly known: string | undefined; readonly taken: string },
): string | undefined {
  if (handleOf(known) === undefined) return taken;
  return metadata?.deletionTimestamp !== undefined && known !== taken ? taken : undefined;
}

/** Its deletion is asked for, snapshot-controller, where it is responsible, agrees, and no call may have taken a snapshot that the status does not show. */
export function isToBeDeleted<T extends ContentTypes>(content: T['content'], kind: ContentKind<T>): boolean {
  if (content.metadata?.deletionTimestamp === undefined) return false;
  const isUnbound = (kind.referenceOf(content)?.uid ?? '') === '';
  if (kind.isPreProvisioned(content) && isUnbound) return true;
  // Without its answer the snapshot would have no owner.
  return !isMarked(content, kind.annotations) && isAgreed(content, kind.annotations);
}

/** A deletion that would be carried out, were it not for the intent. */
export function isDeletionHeld(content: AnyContent, annotations: ContentAnnotations): boolean {
  const isDeleting = content.metadata?.deletionTimestamp !== undefined;
  return isDeleting && isAgreed(content, annotations) && isMarked(content, annotations);
}

/** snapshot-controller agrees to the deletion. */
function isAgreed(content: AnyContent, { beingDeleted }: ContentAnnotations): boolean {
  return hasAnnotation(content, beingDeleted);
}
