// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { finalizersWith, finalizersWithout } from './finalizer-patch.ts';

const of = (...finalizers: readonly string[]): object => ({ metadata: { name: 'a', finalizers } });

it.each([
  { when: 'there are no finalizers', object: {}, added: ['a'], result: ['a'] },
  { when: 'others are there', object: of('z', 'b'), added: ['a'], result: ['z', 'b', 'a'] },
  { when: 'one of two is there', object: of('a'), added: ['a', 'b'], result: ['a', 'b'] },
  { when: 'it is there', object: of('b', 'a'), added: ['a'], result: undefined },
])('given $when, when $added is added, then the list is $result', ({ object, added, result }) => {
  expect(finalizersWith(object, ...added)).toEqual(result);
});

it.each([
  { when: 'there are no finalizers', object: {}, removed: ['a'], result: undefined },
  { when: 'it is not there', object: of('b'), removed: ['a'], result: undefined },
  { when: 'it is the last one', object: of('a'), removed: ['a'], result: [] },
  { when: 'others are there', object: of('z', 'a', 'b'), removed: ['a', 'c'], result: ['z', 'b'] },
])('given $when, when $removed is removed, then the list is $result', ({ object, removed, result }) => {
  expect(finalizersWithout(object, ...removed)).toEqual(result);
});
