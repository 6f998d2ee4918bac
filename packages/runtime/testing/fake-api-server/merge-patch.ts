// SPDX-License-Identifier: Apache-2.0
/** RFC 7386: objects merge, null removes, everything else replaces. */
import { copyJson, isObject, type MutableJson } from './json.ts';

export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return copyJson(patch);
  const merged: MutableJson = isObject(document) ? { ...document } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete merged[field];
    else merged[field] = applyMergePatch(merged[field], value);
  }
  return merged;
}
