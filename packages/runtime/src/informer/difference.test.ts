// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aVolume, FakeClock } from '../../testing/index.ts';
import { createBudget } from './budget.ts';
import { mergeInto } from './difference.ts';
import { createStore } from './store.ts';

const names = Array.from({ length: 5000 }, (_, index) => `pv-${index}`);

it('[runtime#93f] given a relist that changes, adds and deletes thousands of objects, then the event loop turns at least every 500 objects', async () => {
  const clock = new FakeClock();
  let objects = 0;
  const slices: number[] = [];
  clock.yieldToLoop = () => {
    slices.push(objects);
    objects = 0;
    return Promise.resolve();
  };
  const budget = createBudget(clock);
  const counted = {
    spend: () => {
      objects += 1;
      return budget.spend();
    },
  };
  const store = createStore();
  for (const name of names) store.set(name as never, aVolume(name, '1'));
  const collected = createStore();
  for (const name of names.slice(0, 2500)) collected.set(name as never, aVolume(name, '2'));
  for (const name of names.slice(0, 2500)) collected.set(`new-${name}` as never, aVolume(`new-${name}`, '3'));
  const { deleted, changed } = await mergeInto(store, collected.objects, counted);
  expect([[...deleted].length, [...changed].length, store.objects.size]).toEqual([2500, 5000, 5000]);
  expect([slices.length, Math.max(...slices)]).toEqual([25, 500]);
});
