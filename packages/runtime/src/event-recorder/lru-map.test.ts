// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { LruMap } from './lru-map.ts';

it('given more entries than fit, then the one that was not used for longest is gone', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, undefined, 3]);
});
