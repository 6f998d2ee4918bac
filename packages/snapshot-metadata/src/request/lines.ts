// SPDX-License-Identifier: Apache-2.0
/** Things that wait, in lines of their own, and lines in groups. Both are kept in the order in which they have last been served. */

/** Where a request waits: the group is an address and the name a connection of it, or both are those of one token. */
export interface Line {
  readonly group: string;
  readonly name: string;
}

export interface Lines<T> {
  add(line: Line, item: T): void;
  /** False if it is not there any more. */
  remove(line: Line, item: T): boolean;
  /** Takes the oldest of the line that has waited longest for its turn, of the group that has; undefined if nothing waits. */
  next(): T | undefined;
  /** How many wait in this group. */
  sizeOf(group: string): number;
  /** The group in which most wait. */
  largestGroup(): string;
  /** The newest of the longest line of a group. This line counts as the longest if none is longer. */
  newestOfLongest(group: string, line: Line): T | undefined;
}

export function createLines<T>(): Lines<T> {
  const groups = new Map<string, Map<string, T[]>>();
  const sizeOf = (group: string): number => {
    let size = 0;
    for (const items of groups.get(group)?.values() ?? []) size += items.length;
    return size;
  };
  const remove = ({ group, name }: Line, item: T): boolean => {
    const lines = groups.get(group);
    const items = lines?.get(name) ?? [];
    const at = items.indexOf(item);
    if (at < 0) return false;
    items.splice(at, 1);
    if (items.length === 0) lines?.delete(name);
    if (lines?.size === 0) groups.delete(group);
    return true;
  };
  return {
    add({ group, name }, item) {
      const lines = groups.get(group) ?? new Map<string, T[]>();
      const items = lines.get(name) ?? [];
      items.push(item);
      lines.set(name, items);
      groups.set(group, lines);
    },
    remove,
    next() {
      for (const [group, lines] of groups) {
        for (const [name, items] of lines) {
          const [item] = items;
          if (item === undefined) continue;
          // To the end.
          groups.delete(group);
          groups.set(group, lines);
          lines.delete(name);
          lines.set(name, items);
          remove({ group, name }, item);
          return item;
        }
      }
      return undefined;
    },
    sizeOf,
    largestGroup: () => [...groups.keys()].reduce((a, b) => (sizeOf(b) > sizeOf(a) ? b : a), ''),
    newestOfLongest(group, { name }) {
      const lines = groups.get(group);
      let longest = lines?.get(name) ?? [];
      for (const items of lines?.values() ?? []) if (items.length > longest.length) longest = items;
      return longest.at(-1);
    },
  };
}
