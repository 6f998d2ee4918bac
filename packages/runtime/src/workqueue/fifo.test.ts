// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { usedHeap } from '../../testing/used-heap.ts';
import { Fifo } from './fifo.ts';

it.each([1, 5_000])(
  'given three million items that pass through while %i wait, then they are in order, and their memory is given back',
  (waiting) => {
    const before = usedHeap();
    const items = new Fifo<number>();
    for (let item = -waiting; item < 0; item += 1) items.push(item);
    let outOfOrder = 0;
    for (let item = 0; item < 3_000_000; item += 1) {
      items.push(item);
      if (items.shift() !== item - waiting) outOfOrder += 1;
    }
    const keptMiB = (usedHeap() - before) / 2 ** 20;
    expect([outOfOrder, items.length]).toEqual([0, waiting]);
    expect(keptMiB).toBeLessThan(5);
  },
);

it('given many items that wait, then taking all of them takes no longer for each than taking few', () => {
  const items = new Fifo<number>();
  for (let item = 0; item < 300_000; item += 1) items.push(item);
  let sum = 0;
  for (let item = items.shift(); item !== undefined; item = items.shift()) sum += item;
  expect([sum, items.length, items.shift()]).toEqual([(300_000 * 299_999) / 2, 0, undefined]);
});
