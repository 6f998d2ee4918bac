// SPDX-License-Identifier: Apache-2.0
/**
 * Things that wait, in lines of their own, and lines in groups. Both are kept in the order in which they have last been served. In a group, lines that
 * have not been served yet come first: among connections with many bad tokens a caller that has just come is soon served. At least every eighth turn is
 * one of the others, so that those who open connections all the time do not keep them out.
 */

/** Where a request waits: the group is an address and the name a connection of it, or both are those of one token. */
export interface Line {
  readonly group: string;
  readonly name: string;
}

export interface Lines<T> {
  add(line: Line, item: T): void;
  /** False if it is not there any more. */
  remove(line: Line, item: T): boolean;
  /** Takes the oldest of the line whose turn it is, of the group that has waited longest for its turn; undefined if nothing waits. */
  next(): T | undefined;
  /** How many wait in this group. */
  sizeOf(group: string): number;
  /** The group in which most wait. */
  largestGroup(): string;
  /** The newest of the longest line of a group. This line counts as the longest if none is longer. */
  newestOfLongest(group: string, line: Line): T | undefined;
}

interface Group<T> {
  readonly fresh: Map<string, T[]>;
  readonly served: Map<string, T[]>;
  /** So many turns in a row were of lines that had not been served before. */
  freshTurns: number;
}

const mostFreshTurns = 7;

export function createLines<T>(): Lines<T> {
  const groups = new Map<string, Group<T>>();
  const linesOf = (group: string): readonly T[][] => {
    const lines = groups.get(group);
    return lines === undefined ? [] : [...lines.fresh.values(), ...lines.served.values()];
  };
  const sizeOf = (group: string): number => linesOf(group).reduce((size, { length }) => size + length, 0);
  return {
    add({ group, name }, item) {
      const lines = groups.get(group) ?? { fresh: new Map(), served: new Map(), freshTurns: 0 };
      groups.set(group, lines);
      const items = lines.served.get(name) ?? lines.fresh.get(name);
      if (items === undefined) lines.fresh.set(name, [item]);
      else items.push(item);
    },
    remove({ group, name }, item) {
      const lines = groups.get(group);
      if (lines === undefined) return false;
      const { fresh, served } = lines;
      const items = served.get(name) ?? fresh.get(name) ?? [];
      const at = items.indexOf(item);
      if (at < 0) return false;
      items.splice(at, 1);
      if (items.length === 0) (served.has(name) ? served : fresh).delete(name);
      if (fresh.size + served.size === 0) groups.delete(group);
      return true;
    },
    next() {
      const [first] = groups;
      if (first === undefined) return undefined;
      const [name, group] = first;
      const isFreshTurn = group.served.size === 0 || (group.fresh.size > 0 && group.freshTurns < mostFreshTurns);
      const from = isFreshTurn ? group.fresh : group.served;
      const [[line, items = []] = ['']] = from;
      const item = items.shift();
      // Both to the end.
      from.delete(line);
      if (items.length > 0) group.served.set(line, items);
      group.freshTurns = isFreshTurn ? group.freshTurns + 1 : 0;
      groups.delete(name);
      if (group.fresh.size + group.served.size > 0) groups.set(name, group);
      return item;
    },
    sizeOf,
    largestGroup: () => [...groups.keys()].reduce((a, b) => (sizeOf(b) > sizeOf(a) ? b : a), ''),
    newestOfLongest(group, { name }) {
      const own = groups.get(group)?.served.get(name) ?? groups.get(group)?.fresh.get(name) ?? [];
      return linesOf(group)
        .reduce((longest, items) => (items.length > longest.length ? items : longest), own)
        .at(-1);
    },
  };
}
