// SPDX-License-Identifier: Apache-2.0
/** What single fields of a content mean, for both kinds. */
import type { AnyContent, ContentAnnotations, ContentKind, ContentState, ContentTypes } from './content-types.ts';

export function contentNameOf({ metadata }: AnyContent): string {
  return metadata?.name ?? '';
}

export function hasAnnotation({ metadata }: AnyContent, name: string): boolean {
  return Object.hasOwn(metadata?.annotations ?? {}, name);
}

/** A call to take the snapshot may be under way, or may have had an effect that is not recorded. */
export function isMarked(content: AnyContent, { beingCreated }: ContentAnnotations): boolean {
  return hasAnnotation(content, beingCreated);
}

export function isReady({ status }: AnyContent): boolean {
  return status?.readyToUse === true;
}

/** Absent, not empty: no attempt has ended yet. */
export function hasStatus({ status }: AnyContent): boolean {
  return (status ?? undefined) !== undefined;
}

/** An empty handle names nothing. */
export function handleOf(handle: string | undefined): string | undefined {
  return handle === '' ? undefined : handle;
}

/** It is to be deleted, and no call may have taken a snapshot that its status does not show. */
export function mayBeDeleted<T extends ContentTypes>({
  state,
  content,
  kind,
}: {
  readonly state: Pick<ContentState<T>, 'isOpen' | 'deleted'>;
  readonly content: T['content'];
  readonly kind: ContentKind<T>;
}): boolean {
  const isRecorded = !state.isOpen || isReady(content);
  return isToBeDeleted(content, kind) && (isRecorded || state.deleted !== 'untried');
}

/** The deletion of the content was asked for, and snapshot-controller, where it is responsible, agrees. */
export function isToBeDeleted<T extends ContentTypes>(content: T['content'], kind: ContentKind<T>): boolean {
  if (content.metadata?.deletionTimestamp === undefined) return false;
  const isUnbound = (kind.referenceOf(content)?.uid ?? '') === '';
  if (kind.isPreProvisioned(content) && isUnbound) return true;
  // Without its answer the snapshot would have no owner.
  if (isMarked(content, kind.annotations)) return false;
  return hasAnnotation(content, kind.annotations.beingDeleted);
}
