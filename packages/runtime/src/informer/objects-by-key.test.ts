// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { usedHeap } from '../../testing/used-heap.ts';
import type { KubeObject } from '../api/objects.ts';
import { keyOf, type ObjectKey, toObjectKey } from './key.ts';
import { createObjectsByKey } from './objects-by-key.ts';

const anObject = (key: ObjectKey, uid = ''): KubeObject => {
  const [name = '', namespace] = key.split('/').toReversed();
  return { metadata: { name, uid, ...(namespace !== undefined && { namespace }) } };
};
const keys = [toObjectKey(undefined, 'a'), toObjectKey(undefined, 'b')].concat(
  ['one', 'two', 'three'].flatMap((namespace) => ['a', 'b'].map((name) => toObjectKey(namespace, name))),
);

describe('objects by key', () => {
  it('given names that are and are not shared between namespaces, when set and deleted at random, then it is a map', () => {
    const change = fc.record({ key: fc.constantFrom(...keys), how: fc.constantFrom('set', 'delete') });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const objects = createObjectsByKey<KubeObject>();
        const model = new Map<ObjectKey, KubeObject>();
        for (const [i, { key, how }] of changes.entries()) {
          const object = anObject(key, String(i));
          if (how === 'set') objects.set(object);
          else objects.delete(key);
          if (how === 'set') model.set(key, object);
          else model.delete(key);
        }
        expect(new Map([...objects].map((object) => [keyOf(object), object]))).toEqual(model);
        expect(objects.size).toBe(model.size);
        for (const key of keys) expect(objects.get(key)).toBe(model.get(key));
      }),
      { seed: 1 },
    );
  });

  it('given 20,000 names in two namespaces, when all are deleted, then nothing of them is kept', () => {
    const objects = createObjectsByKey<KubeObject>();
    const before = usedHeap();
    for (let n = 0; n < 20_000; n += 1) {
      const both = ['one', 'two'].map((namespace) => toObjectKey(namespace, `name-${n}`));
      for (const key of both) objects.set(anObject(key));
      for (const key of both) objects.delete(key);
    }
    expect(usedHeap() - before).toBeLessThan(2_000_000);
    expect(objects.size).toBe(0);
  });

  it('given an iteration under which objects change, then those that stay are seen once, as they are then', () => {
    const objects = createObjectsByKey<KubeObject>();
    for (const key of keys) objects.set(anObject(key));
    const seen: KubeObject[] = [];
    for (const object of objects) {
      seen.push(object);
      if (seen.length > 1) continue;
      for (const key of keys.filter((each) => each.startsWith('one/'))) objects.delete(key);
      objects.set(anObject(toObjectKey('two', 'b'), 'changed'));
    }
    const seenKeys = seen.map(keyOf);
    expect(seenKeys.toSorted()).toEqual(keys.filter((key) => !key.startsWith('one/')).toSorted());
    expect(seen[seenKeys.indexOf(toObjectKey('two', 'b'))]).toEqual(anObject(toObjectKey('two', 'b'), 'changed'));
  });
});
