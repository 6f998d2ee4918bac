// SPDX-License-Identifier: Apache-2.0
/** Maps of strings are compared by content, whatever the order of their keys. */
import type { StringMap } from './records.ts';

export function sameMap(a: StringMap, b: StringMap): boolean {
  return canonical(a) === canonical(b);
}

/** A text that is equal for equal maps. */
export function canonical(map: StringMap): string {
  return JSON.stringify(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}
