// SPDX-License-Identifier: Apache-2.0
/**
 * value -> the keys found under it. Most values of most indexes have one key, and a Set for one key takes 300 bytes where
 * the bare key takes 68: so one key is stored as it is and becomes a Set with the second.
 */
export interface IndexTable<Key extends string> {
  /** Moves a key from its former index values to its current ones. */
  move(key: Key, change: { readonly from: readonly string[]; readonly to: readonly string[] }): void;
  keys(value: string): Iterable<Key>;
  values(): readonly string[];
}

export function createIndexTable<Key extends string>(): IndexTable<Key> {
  const table = new Map<string, Key | Set<Key>>();

  const add = (value: string, key: Key): void => {
    const found = table.get(value);
    if (found === undefined) table.set(value, key);
    else if (typeof found === 'object') found.add(key);
    else if (found !== key) table.set(value, new Set([found, key]));
  };

  const remove = (value: string, key: Key): void => {
    const found = table.get(value);
    if (typeof found === 'object') {
      found.delete(key);
      if (found.size > 1) return;
      const [last] = found;
      if (last !== undefined) table.set(value, last);
    } else if (found === key) {
      // An empty entry would stay for ever: the values may be as many as the objects ever seen.
      table.delete(value);
    }
  };

  return {
    move(key, { from, to }) {
      for (const value of from) if (!to.includes(value)) remove(value, key);
      for (const value of to) if (!from.includes(value)) add(value, key);
    },
    keys(value) {
      const found = table.get(value);
      if (found === undefined) return [];
      return typeof found === 'object' ? found : [found];
    },
    values: () => [...table.keys()],
  };
}
