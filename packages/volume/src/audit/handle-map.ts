// SPDX-License-Identifier: Apache-2.0
/**
 * Entries by handle, for lists that are long and live for a whole pass: half of the memory of a Map. The bytes of all handles are one buffer, and a
 * table of indexes finds them (open addressing, at most half full). Nothing is removed.
 */

import { fnv1a } from '../fnv.ts';

/** What a comparison needs of a list. A Map is one as well. */
export interface Entries<E> extends Iterable<readonly [handle: string, entry: E]> {
  readonly size: number;
  has(handle: string): boolean;
  get(handle: string): E | undefined;
  keys(): Iterable<string>;
}

export interface HandleMap<E> extends Entries<E> {
  /** Replaces the entry of a handle that is there. */
  set(handle: string, entry: E): void;
}

/** Handles are texts of UTF-8, as in a message of a driver: half a surrogate pair counts as U+FFFD. */
export function createHandleMap<E>(): HandleMap<E> {
  const entries: E[] = [];
  let bytes = new Uint8Array(1_024);
  /** Where the bytes of each handle end; those of the next one begin there. */
  let ends = new Uint32Array(64);
  /** An index and one; 0: the slot is free. */
  let slots = new Uint32Array(128);

  const handleAt = (index: number): Uint8Array => bytes.subarray(index === 0 ? 0 : ends[index - 1], ends[index]);
  // A loop: for few bytes faster than a view and a call of `Buffer.compare`.
  const isAt = (index: number, handle: Uint8Array): boolean => {
    const start = index === 0 ? 0 : (ends[index - 1] ?? 0);
    if (ends[index] !== start + handle.length) return false;
    for (let at = 0; at < handle.length; at += 1) if (bytes[start + at] !== handle[at]) return false;
    return true;
  };
  /** The slot of the handle, or the free one in which it would be. */
  const slotOf = (handle: Uint8Array): number => {
    for (let slot = fnv1a(handle); ; slot += 1) {
      const at = slot & (slots.length - 1);
      const taken = slots[at] ?? 0;
      if (taken === 0 || isAt(taken - 1, handle)) return at;
    }
  };
  const indexOf = (handle: string): number => (slots[slotOf(Buffer.from(handle))] ?? 0) - 1;
  const add = (handle: Uint8Array, entry: E): void => {
    const index = entries.push(entry) - 1;
    const start = index === 0 ? 0 : (ends[index - 1] ?? 0);
    const end = start + handle.length;
    if (end > bytes.length) bytes = copied(bytes, new Uint8Array(grown(end)));
    if (index >= ends.length) ends = copied(ends, new Uint32Array(grown(index)));
    bytes.set(handle, start);
    ends[index] = end;
    if (entries.length * 2 > slots.length) {
      slots = new Uint32Array(slots.length * 2);
      for (let each = 0; each <= index; each += 1) slots[slotOf(handleAt(each))] = each + 1;
    } else slots[slotOf(handle)] = index + 1;
  };
  const textAt = (index: number): string => Buffer.from(handleAt(index)).toString();
  return {
    get size() {
      return entries.length;
    },
    has: (handle) => indexOf(handle) >= 0,
    get: (handle) => entries[indexOf(handle)],
    set: (handle, entry) => {
      const index = indexOf(handle);
      if (index >= 0) entries[index] = entry;
      else add(Buffer.from(handle), entry);
    },
    *keys() {
      for (const index of entries.keys()) yield textAt(index);
    },
    *[Symbol.iterator]() {
      for (const [index, entry] of entries.entries()) yield [textAt(index), entry];
    },
  };
}

/** Little is left free, because a list grows once and stays. */
function grown(least: number): number {
  return Math.ceil(least * 1.25) + 64;
}

function copied<T extends Uint8Array | Uint32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
