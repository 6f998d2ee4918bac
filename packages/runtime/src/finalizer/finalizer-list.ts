// SPDX-License-Identifier: Apache-2.0
/**
 * The list of finalizers as a merge patch has to write it: whole. For custom resources, which take no strategic merge patches; the
 * patch has to be guarded by the resource version, as `changeObject` does it. Built-in kinds: `addFinalizer`, `removeFinalizer`.
 */
import type { KubeObject } from '../api/objects.ts';

/** Undefined: it is there already. It comes last. */
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
