// SPDX-License-Identifier: Apache-2.0
/**
 * Patches that name finalizers by value. A merge patch replaces the whole list, and so restores a finalizer that another
 * writer removed; a JSON patch names a position in a list that may have changed. These patches need no retry, never duplicate
 * an entry, and leave the other entries as they are, however old the known object is. The UID keeps them from another object of
 * the same name.
 *
 * Strategic merge patches: for built-in kinds only.
 */
import type { KubeObject } from '../api/objects.ts';

/** The metadata of a merge patch. */
export type Metadata = Readonly<Record<string, unknown>>;

/** `metadata` of a strategic merge patch. The finalizer comes last; without the order the server would put it first. */
export function addedFinalizer({ metadata }: KubeObject, finalizer: string): Metadata {
  const order = [...(metadata?.finalizers ?? []), finalizer];
  return { uid: metadata?.uid, finalizers: [finalizer], '$setElementOrder/finalizers': order };
}

/** `metadata` of a strategic merge patch. */
export function removedFinalizer({ metadata }: KubeObject, ...removed: readonly [string, ...string[]]): Metadata {
  return { uid: metadata?.uid, '$deleteFromPrimitiveList/finalizers': removed };
}

/**
 * The list of finalizers as a merge patch has to write it: whole. For custom resources, which take no strategic merge patches; the
 * patch has to be guarded by the resource version, as `changeObject` does it. For one finalizer: `addFinalizer`, `removeFinalizer`.
 * Undefined: it is there already. It comes last.
 */
export function finalizersWith({ metadata }: KubeObject, ...added: readonly string[]): readonly string[] | undefined {
  const present = metadata?.finalizers ?? [];
  const missing = added.filter((finalizer) => !present.includes(finalizer));
  return missing.length === 0 ? undefined : [...present, ...missing];
}

/** Undefined: none of them is there. */
export function finalizersWithout(
  { metadata }: KubeObject,
  ...removed: readonly string[]
): readonly string[] | undefined {
  const present = metadata?.finalizers ?? [];
  const kept = present.filter((finalizer) => !removed.includes(finalizer));
  return kept.length === present.length ? undefined : kept;
}
