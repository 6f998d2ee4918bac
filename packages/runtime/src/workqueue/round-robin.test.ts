// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { RoundRobin } from './round-robin.ts';

function drain(items: RoundRobin<string>): string[] {
  const taken: string[] = [];
  for (let item = items.shift(); item !== undefined; item = items.shift()) taken.push(item);
  return taken;
}

it('given groups of several sizes, then they take turns, and each keeps its order', () => {
  const items = new RoundRobin<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) items.push(item.charAt(0), item);
  expect(drain(items)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});

it('given nothing to take, then later items are taken all the same', () => {
  const items = new RoundRobin<string>();
  expect(items.shift()).toBeUndefined();
  items.push('a', 'a1');
  expect(drain(items)).toEqual(['a1']);
});

it('given a group that ran empty, when it comes back, then it is behind those that wait', () => {
  const items = new RoundRobin<string>();
  items.push('a', 'a1');
  items.push('b', 'b1');
  items.push('b', 'b2');
  expect(items.shift()).toBe('a1');
  items.push('a', 'a2');
  expect(drain(items)).toEqual(['b1', 'a2', 'b2']);
});
