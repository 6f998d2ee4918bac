// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aVolume, FakeClock } from '../../testing/index.ts';
import { createBudget } from './budget.ts';
import { everythingNew, isSameVersion, mergeInto } from './difference.ts';
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

const of = (name: string, resourceVersion: string, uid = name) => ({ metadata: { name, uid, resourceVersion } });

it('given a content and the next one, then what is gone, changed, new and made again is reported, and the store holds the next one', async () => {
  const store = createStore();
  const [kept, old, gone, replaced] = [of('kept', '1'), of('changed', '1'), of('gone', '1'), of('again', '1')];
  for (const object of [kept, old, gone, replaced]) store.set(object.metadata.name as never, object);
  const collected = createStore();
  const [next, fresh, again] = [of('changed', '2'), of('new', '3'), of('again', '4', 'another')];
  for (const object of [kept, next, fresh, again]) collected.set(object.metadata.name as never, object);
  let turns = 0;
  const spend = () => Promise.resolve().then(() => (turns += 1)) as never;
  const { deleted, changed } = await mergeInto(store, collected.objects, { spend });
  expect([...deleted]).toEqual([
    ['gone', gone],
    ['again', replaced],
  ]);
  expect([...changed]).toEqual([
    { current: next, previous: old },
    { current: fresh, previous: undefined },
    { current: again, previous: undefined },
  ]);
  expect([...store.objects]).toEqual([kept, next, again, fresh]);
  // Each turn of the event loop is waited for: one for each object before, each after and each that is gone.
  expect(turns).toBe(4 + 4 + 2);
});

it('given a content and nothing before it, then all of it is new', () => {
  const store = createStore();
  store.set('a' as never, of('a', '1'));
  const { deleted, changed } = everythingNew(store);
  expect([[...deleted], [...changed]]).toStrictEqual([[], [{ current: of('a', '1'), previous: undefined }]]);
});

it.each([
  ['the same', of('a', '1'), of('a', '1'), true],
  ['another version', of('a', '1'), of('a', '2'), false],
  ['another object of the name', of('a', '1'), of('a', '1', 'b'), false],
  ['no versions', of('a', ''), of('a', ''), false],
  ['no metadata', {}, {}, false],
  ['no metadata in one of them', of('a', '1'), {}, false],
])('given two copies with %s, then they are of one version or not', (...[, one, other, isSame]) => {
  expect([isSameVersion(one, other), isSameVersion(other, one)]).toEqual([isSame, isSame]);
});
