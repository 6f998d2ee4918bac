// SPDX-License-Identifier: Apache-2.0
/** Maps of strings compare by content, whatever the order of their keys. */
import type { StringMap } from './records.ts';

export function sameMap(a: StringMap, b: StringMap): boolean {
  return canonical(a) === canonical(b);
}

/** Equal for equal maps. */
export function canonical(map: StringMap): string {
  return JSON.stringify(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
