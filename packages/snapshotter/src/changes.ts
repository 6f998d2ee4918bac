// SPDX-License-Identifier: Apache-2.0
/**
 * Which changes of a content wake it: upstream's update filter. Own writes to the status, the intent, the finalizer and the node affinity do
 * not, because the watch brings them back and the backoff would be lost.
 */
import { type Change, isResync, stringifyJson } from '@csi-sidecars/runtime';
import { isReady, markLabelOf } from './content-object.ts';
import type { AnyContent, ContentAnnotations } from './content-types.ts';
import { withdrawn } from './names.ts';

export function matters({ previous, current, ...rest }: Change<AnyContent>, annotations: ContentAnnotations): boolean {
  if (current === undefined) return false;
  if (previous === undefined || isResync({ previous, current, ...rest })) return true;
  // A deletion may have waited for it.
  if (isReady(current) && !isReady(previous)) return true;
  return whatOthersWrite(previous, annotations) !== whatOthersWrite(current, annotations);
}

/** Absent and empty maps are the same. */
function whatOthersWrite(content: AnyContent, ours: ContentAnnotations): string {
  const { uid, deletionTimestamp, labels, annotations } = content.metadata ?? {};
  // The generation changes with the node affinity, and with nothing that is not here.
  const { nodeAffinity: _affinity, ...spec }: { readonly nodeAffinity?: unknown } & object = content.spec ?? {};
  const others = (map: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] =>
    Object.entries(map)
      .filter(([name]) => name !== ours.beingCreated)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const isWithdrawn = markLabelOf(content, ours) === withdrawn;
  return stringifyJson([uid, deletionTimestamp, others(labels), others(annotations), isWithdrawn, spec]);
}
