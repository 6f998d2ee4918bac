// SPDX-License-Identifier: Apache-2.0
/**
 * Which changes of a content wake it: upstream's update filter. Own writes to the status, the intent, the finalizer and the node affinity do
 * not, because the watch brings them back and the backoff would be lost.
 */
import { type Change, isResync, stringifyJson } from '@csi-sidecars/runtime';
import { isReady, markLabelOf } from './content-object.ts';
import type { AnyContent, ContentAnnotations } from './content-types.ts';
import { withdrawn } from './names.ts';

/** The part of a `ContentKind` that decides. */
interface ChangesOf<C extends AnyContent> {
  readonly annotations: ContentAnnotations;
  readonly alsoMatters?: (previous: C, current: C) => boolean;
}

export function matters<C extends AnyContent>(
  change: Change<C>,
  { annotations, alsoMatters }: ChangesOf<C>,
): change is Change<C> & { readonly current: C } {
  const { previous, current } = change;
  if (current === undefined) return false;
  if (previous === undefined || isResync(change)) return true;
  // A deletion may have waited for it.
  if (isReady(current) && !isReady(previous)) return true;
  if (alsoMatters?.(previous, current) === true) return true;
  return whatOthersWrite(previous, annotations) !== whatOthersWrite(current, annotations);
}

/** Absent and empty maps are the same. */
function whatOthersWrite(content: AnyContent, ours: ContentAnnotations): string {
  const { uid, deletionTimestamp, labels, annotations } = content.metadata ?? {};
  // The generation changes with the node affinity, and with nothing that is not here.
  const { nodeAffinity: _affinity, ...spec }: { readonly nodeAffinity?: unknown } & object = content.spec ?? {};
  const others = (map: Readonly<Record<string, string>> = {}): readonly string[] =>
    Object.entries(map)
      .filter(([name]) => name !== ours.beingCreated)
      .map(([name, value]) => `${name}=${value}`)
      .toSorted();
  const isWithdrawn = markLabelOf(content, ours) === withdrawn;
  return stringifyJson([uid, deletionTimestamp, others(labels), others(annotations), isWithdrawn, spec]);
}
