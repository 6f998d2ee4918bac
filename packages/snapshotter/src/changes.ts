// SPDX-License-Identifier: Apache-2.0
/**
 * Which changes of a content wake it: upstream's update filter. Own writes to the status, the own annotation and the finalizer do
 * not, because the watch brings them back and the backoff would be lost.
 */
import { type Change, isResync, stringifyJson } from '@csi-sidecars/runtime';
import { hasAnnotation, isMarked, isReady } from './content-object.ts';
import type { AnyContent, ContentAnnotations } from './content-types.ts';

export function matters({ previous, current, ...rest }: Change<AnyContent>, annotations: ContentAnnotations): boolean {
  if (current === undefined) return false;
  if (previous === undefined || isResync({ previous, current, ...rest })) return true;
  // A deletion may have waited for it.
  if (isReady(current) && !isReady(previous)) return true;
  return whatOthersWrite(previous, annotations) !== whatOthersWrite(current, annotations);
}

/**
 * Another writer removed the intent and nothing else: an administrator who releases a content whose call is never answered. A write that adds
 * the annotation of snapshot-controller as well had an old copy. `newest` includes own writes, which the watch may not have brought yet.
 */
export function isIntentWithdrawn(
  { previous, current }: Change<AnyContent>,
  newest: AnyContent | undefined,
  annotations: ContentAnnotations,
): boolean {
  if (previous === undefined || current === undefined || newest === undefined) return false;
  const { beingDeleted } = annotations;
  const isRemoved = isMarked(previous, annotations) && !isMarked(current, annotations);
  const isDeletionNew = !hasAnnotation(previous, beingDeleted) && hasAnnotation(current, beingDeleted);
  return isRemoved && !isDeletionNew && !isMarked(newest, annotations);
}

/** Absent and empty maps are the same. */
function whatOthersWrite({ metadata = {}, spec }: AnyContent, { beingCreated }: ContentAnnotations): string {
  const { uid, deletionTimestamp, generation, labels = {}, annotations = {} } = metadata;
  const others = Object.entries(annotations).filter(([name]) => name !== beingCreated);
  return stringifyJson([uid, deletionTimestamp, generation, sorted(Object.entries(labels)), sorted(others), spec]);
}

function sorted(entries: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
}
