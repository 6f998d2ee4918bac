// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../api/objects.ts';
import { createIndexTable } from './index-table.ts';
import type { Indexers } from './informer.ts';
import { keyOf, type ObjectKey, toObjectKey } from './key.ts';
import { createStore, type Store } from './store.ts';

const object = (name: string, values: readonly string[]): KubeObject => ({
  metadata: { name, labels: Object.fromEntries(values.map((value) => [value, ''])) },
});
const byLabel: Indexers<KubeObject> = { label: ({ metadata }) => Object.keys(metadata?.labels ?? {}) };
const put = (store: Store<KubeObject>, ...objects: readonly KubeObject[]): void => {
  for (const each of objects) store.set(keyOf(each), each);
};
const found = (store: Store<KubeObject>, value: string): readonly string[] => [...store.keysOf('label', value)].sort();

describe('indexes', () => {
  it('[runtime#94] given an object that moves from {a, b} to {b, c}, then a misses it, b has it once and c finds it', () => {
    const store = createStore(byLabel);
    put(store, object('x', ['a', 'b']));
    put(store, object('x', ['b', 'c']));
    expect(['a', 'b', 'c'].map((value) => found(store, value))).toEqual([[], ['x'], ['x']]);
  });

  it('[runtime#95] given the last object of a value is deleted, then the value is no longer listed', () => {
    const store = createStore(byLabel);
    put(store, object('x', ['a']), object('y', ['a', 'b']));
    store.delete(toObjectKey(undefined, 'y'));
    expect(store.indexValues('label')).toEqual(['a']);
    store.delete(toObjectKey(undefined, 'x'));
    expect(store.indexValues('label')).toEqual([]);
  });

  it('[runtime#96] given indexers of which one name exists, then an error, and nothing has changed', () => {
    const store = createStore(byLabel);
    store.addIndexers({ second: () => [] });
    const added = { other: () => [], second: () => [], ...byLabel };
    expect(() => store.addIndexers(added)).toThrow('indexer conflict: second, label');
    expect(['other', 'second'].map((name) => store.hasIndex(name))).toEqual([false, true]);
  });

  it('given an index added to a filled store, then what is there is indexed', () => {
    const store = createStore<KubeObject>();
    put(store, object('x', ['a']));
    store.addIndexers(byLabel);
    expect(found(store, 'a')).toEqual(['x']);
    expect(found(store.emptyCopy(), 'a')).toEqual([]);
  });

  it('given an index that does not exist, then reading it is an error', () => {
    expect(() => createStore().keysOf('nope', 'x')).toThrow('Index with name nope does not exist');
    expect(() => createStore().indexValues('nope')).toThrow('Index with name nope does not exist');
  });

  it('given an index function that throws, then the error names index and key', () => {
    const store = createStore<KubeObject>({
      bad: () => {
        throw new Error('defect');
      },
    });
    const cause = new Error('defect');
    expect(() => put(store, object('x', []))).toThrow(new Error('index function "bad" failed for "x"', { cause }));
  });

  it('given the same value twice, then the object is found once', () => {
    const store = createStore<KubeObject>({ label: () => ['a', 'a'] });
    put(store, object('x', []), object('y', []), object('x', []));
    expect(found(store, 'a')).toEqual(['x', 'y']);
  });

  it('given any sequence of changes, then the table finds what a search finds', () => {
    const key = fc.constantFrom('k1', 'k2', 'k3', 'k4') as fc.Arbitrary<ObjectKey>;
    const values = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.record({ key, values })), (changes) => {
        const table = createIndexTable<ObjectKey>();
        const model = new Map<ObjectKey, readonly string[]>();
        for (const change of changes) {
          table.move(change.key, { from: model.get(change.key) ?? [], to: change.values });
          model.set(change.key, change.values);
        }
        const all = ['a', 'b', 'c'];
        const search = (value: string) => [...model].filter((entry) => entry[1].includes(value)).map(([k]) => k);
        expect(all.map((value) => [...table.keys(value)].sort())).toEqual(all.map((value) => search(value).sort()));
        expect([...table.values()].sort()).toEqual(all.filter((value) => search(value).length > 0));
      }),
      { seed: 1 },
    );
  });
});
