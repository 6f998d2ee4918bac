// SPDX-License-Identifier: Apache-2.0
/**
 * The objects of one collection by key, with indexes.
 *
 * Guarantees: every method is synchronous, so what a caller reads between two awaits is one state; indexes always agree
 * with the objects. An index function that throws is a defect (a wrong index is silent data loss): the error names index
 * and key, and it is not caught here.
 */
import type { KubeObject } from '../api/objects.ts';
import { createIndexTable, type IndexTable } from './index-table.ts';
import type { Indexers } from './informer.ts';
import { keyOf, type ObjectKey } from './key.ts';
import { createObjectsByKey, type ReadonlyObjects } from './objects-by-key.ts';

export interface Store<T extends KubeObject> {
  readonly objects: ReadonlyObjects<T>;
  set(key: ObjectKey, object: T): void;
  delete(key: ObjectKey): void;
  /** Throws `indexer conflict` for a name that exists; then nothing has changed. */
  addIndexers(indexers: Indexers<T>): void;
  hasIndex(name: string): boolean;
  /** The following two methods throw for an index that does not exist. */
  keysOf(index: string, value: string): Iterable<ObjectKey>;
  indexValues(index: string): readonly string[];
  /** An empty store with the same indexes. */
  emptyCopy(): Store<T>;
}

interface Index<T> {
  readonly valuesOf: (object: T) => readonly string[];
  readonly table: IndexTable<ObjectKey>;
}

export function createStore<T extends KubeObject>(indexers: Indexers<T> = {}): Store<T> {
  const objects = createObjectsByKey<T>();
  const indexes = new Map<string, Index<T>>();

  const indexOf = (name: string): Index<T> => {
    const index = indexes.get(name);
    if (index === undefined) throw new Error(`Index with name ${name} does not exist`);
    return index;
  };
  const valuesFor = (name: string, entry: readonly [ObjectKey, T | undefined]): readonly string[] => {
    const [key, object] = entry;
    if (object === undefined) return none;
    try {
      return indexOf(name).valuesOf(object);
    } catch (cause) {
      throw new Error(`index function "${name}" failed for "${key}"`, { cause });
    }
  };
  const reindex = (key: ObjectKey, previous: T | undefined, current: T | undefined): void => {
    for (const [name, { table }] of indexes) {
      table.move(key, { from: valuesFor(name, [key, previous]), to: valuesFor(name, [key, current]) });
    }
  };

  const store: Store<T> = {
    objects,
    set(key, object) {
      reindex(key, objects.get(key), object);
      objects.set(object);
    },
    delete(key) {
      reindex(key, objects.get(key), undefined);
      objects.delete(key);
    },
    addIndexers(added) {
      const known = Object.keys(added).filter((name) => indexes.has(name));
      if (known.length > 0) throw new Error(`indexer conflict: ${known.join(', ')}`);
      for (const [name, valuesOf] of Object.entries(added)) {
        const table = createIndexTable<ObjectKey>();
        indexes.set(name, { valuesOf, table });
        for (const object of objects) {
          const key = keyOf(object);
          table.move(key, { from: none, to: valuesFor(name, [key, object]) });
        }
      }
    },
    hasIndex: (name) => indexes.has(name),
    keysOf: (index, value) => indexOf(index).table.keys(value),
    indexValues: (index) => indexOf(index).table.values(),
    emptyCopy: () => createStore(Object.fromEntries([...indexes].map(([name, { valuesOf }]) => [name, valuesOf]))),
  };
  store.addIndexers(indexers);
  return store;
}

const none: readonly string[] = [];
