// SPDX-License-Identifier: Apache-2.0
import { memoryUsage } from 'node:process';
import { expect, it } from 'vitest';
import { Fifo } from './fifo.ts';

it('given ten million items that passed through, then they are in order, and their memory is given back', () => {
  const before = memoryUsage().heapUsed;
  const items = new Fifo<number>();
  items.push(-1);
  let outOfOrder = 0;
  for (let item = 0; item < 10_000_000; item += 1) {
    items.push(item);
    if (items.shift() !== item - 1) outOfOrder += 1;
  }
  expect([outOfOrder, items.length]).toEqual([0, 1]);
  expect((memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(40);
});

it('given many items that wait, then taking all of them takes no longer for each than taking few', () => {
  const items = new Fifo<number>();
  for (let item = 0; item < 300_000; item += 1) items.push(item);
  let sum = 0;
  for (let item = items.shift(); item !== undefined; item = items.shift()) sum += item;
  expect([sum, items.length, items.shift()]).toEqual([(300_000 * 299_999) / 2, 0, undefined]);
});
