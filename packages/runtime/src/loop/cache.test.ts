// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { toObjectKey } from '../informer/key.ts';
import { emptyCache as cache } from './cache.ts';

it('given a kind that is not watched, then its cache shows nothing, and what is written to it changes nothing', () => {
  cache.remember({} as never);
  cache.doubt({} as never);
  const objects = [cache.get(toObjectKey(undefined, 'a')), cache.list(), cache.byIndex('x', 'y')];
  expect([...objects, cache.size, cache.resourceVersion]).toEqual([undefined, [], [], 0, '']);
});
