// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { atOnce, sliced } from './slices.ts';

const items = Array.from({ length: 600 }, (_, at) => at);

it('given 600 items, then each is visited once and in order, in three slices of 256 at most', () => {
  const visited: number[] = [];
  const ends: number[] = [];
  const slices = sliced(items, (item) => void visited.push(item));
  while (slices.next().done !== true) ends.push(visited.length);
  expect(ends).toEqual([256, 512]);
  expect(visited).toEqual(items);
});

it('given slices, when all are to be done at once, then what they return is returned', () => {
  function* counted() {
    let count = 0;
    yield* sliced(items, () => (count += 1));
    return count;
  }
  expect(atOnce(counted())).toBe(600);
});
