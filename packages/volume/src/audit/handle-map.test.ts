// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createHandleMap } from './handle-map.ts';

it('given many handles of all lengths, when set and set again, then it answers as a Map does', () => {
  const [map, model] = [createHandleMap<number>(), new Map<string, number>()];
  for (let index = 0; index < 20_000; index += 1) {
    const handle = `${'/zone'.repeat(index % 40)}vol-\u00e4\u{1F4BE}${index % 15_000}`;
    map.set(handle, index);
    model.set(handle, index);
  }
  expect(map.size).toBe(model.size);
  expect([...map]).toEqual([...model]);
  expect([...map.keys()]).toEqual([...model.keys()]);
  expect([...model].filter(([handle, index]) => map.get(handle) !== index || !map.has(handle))).toEqual([]);
  expect(['', 'vol-', '/zonevol-1', 'x'.repeat(5_000)].filter((handle) => map.has(handle))).toEqual([]);
  expect(map.get('vol-') ?? 'none').toBe('none');
});

it('given two handles with one hash, when both are set, then each has its entry', () => {
  const map = createHandleMap<string>();
  // FNV-1a gives the first two 0x5e4daa9d, and the others 0xe20e47d2.
  map.set('costarring', 'a');
  map.set('liquid', 'b');
  map.set('declinate', 'c');
  map.set('macallums', 'd');
  expect(['costarring', 'liquid', 'declinate', 'macallums'].map((handle) => map.get(handle))).toEqual([
    'a',
    'b',
    'c',
    'd',
  ]);
});

it('given the empty handle and one of a hundred kilobytes, when set, then both are there', () => {
  const map = createHandleMap<string>();
  map.set('', 'empty');
  map.set('x'.repeat(100_000), 'long');
  map.set('y', 'short');
  expect([...map].map(([handle, entry]) => [handle.length, entry])).toEqual([
    [0, 'empty'],
    [100_000, 'long'],
    [1, 'short'],
  ]);
});
