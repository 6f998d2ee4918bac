// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { identityOf, type Transform } from '../transform.ts';
import type { KubeObject } from '../../api/objects.ts';
import { keepersOf, unionOf } from './union.ts';

interface Thing extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
}

const thing: Thing = {
  metadata: { name: 'a', uid: 'u', resourceVersion: '1', labels: { l: '1' }, annotations: { x: '1', y: '2' } },
  spec: { driver: 'd', node: 'n', list: [{ name: 'one', id: 1, keys: null }], big: { p: 1, q: 2, r: 3 } },
};
const frozen = (): Thing => deepFreeze(structuredClone(thing));
const picking = (id: string, pick: (object: Thing) => Thing | undefined): Transform<Thing> => ({ id, apply: pick });

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

const names = picking('names', ({ metadata }) => ({ metadata: identityOf(metadata), spec: {} }));
const driver = picking('driver', ({ metadata, spec }) => ({
  metadata: identityOf(metadata),
  spec: { driver: spec['driver'] },
}));
const parts = picking('parts', ({ metadata, spec }) => ({
  metadata: { ...identityOf(metadata), annotations: { y: '2' } },
  spec: { big: { q: (spec['big'] as { q: number }).q } },
}));
const none = picking('none', () => undefined);

it('given transforms that keep different fields, then the union has the fields of all, and no others', () => {
  const union = unionOf([names, driver, parts]).apply(frozen());
  expect(JSON.parse(JSON.stringify(union))).toEqual({
    metadata: { name: 'a', uid: 'u', resourceVersion: '1', annotations: { y: '2' } },
    spec: { driver: 'd', big: { q: 2 } },
  });
});

it('given transforms that drop the object, then the others are remembered as its keepers', () => {
  const union = unionOf([none, driver, none, names]).apply(frozen());
  expect(union && keepersOf(union)).toBe(0b1010);
  expect(unionOf([none, none]).apply(frozen())).toBeUndefined();
});

it('given one that keeps the whole object, then the union is the whole object', () => {
  const whole = structuredClone(thing);
  expect(unionOf([driver, undefined]).apply(whole)).toBe(whole);
});

it('given values that contradict each other, then the value of the object counts', () => {
  const blank = picking('blank', ({ metadata }) => ({ metadata: identityOf(metadata), spec: { node: '' } }));
  const kept = picking('kept', ({ metadata, spec }) => ({
    metadata: identityOf(metadata),
    spec: { node: spec['node'] },
  }));
  expect(unionOf([blank, kept]).apply(frozen())?.spec['node']).toBe('n');
});

it('given a value that only one of them made, then it is that value, whatever the object has', () => {
  const listed = (extra: object) =>
    picking(JSON.stringify(extra), ({ metadata }) => ({
      metadata: identityOf(metadata),
      spec: { list: [{ name: 'one', ...extra }] },
    }));
  const union = unionOf([listed({ id: 1 }), listed({ keys: [] })]).apply(frozen());
  expect(union?.spec['list']).toEqual([{ name: 'one', id: 1, keys: [] }]);
});

const own = Symbol('own');
/** Makes a value, or keeps the object's own. */
const making = (value: unknown): Transform<Thing> =>
  picking('making', ({ metadata, spec }) => ({
    metadata: identityOf(metadata),
    spec: { at: value === own ? spec['at'] : value },
  }));

it.each([
  { given: 'the same value', has: 'own', made: ['x', 'x'], then: 'x' },
  { given: 'values that the object does not have', has: undefined, made: ['x', 'y'], then: 'x' },
  { given: 'a part and a text', has: 'own', made: [{ a: 1 }, 'text'], then: 'own' },
  { given: 'null and a part', has: 'own', made: [null, { a: 1 }], then: 'own' },
  { given: 'a list and a part', has: 'own', made: [['x'], { a: 1 }], then: 'own' },
  { given: 'a list and a text of one length', has: 'own', made: [['x'], 'y'], then: 'own' },
  { given: 'parts that the object does not have', has: undefined, made: [{ a: 1 }, { b: 2 }], then: { a: 1, b: 2 } },
  { given: 'parts with a field that is undefined', has: { a: 1 }, made: [{ a: undefined }, { b: 2 }], then: { b: 2 } },
  { given: 'lists of different lengths', has: ['own'], made: [[], ['x', 'y']], then: ['own'] },
  { given: 'such lists, and no own one', has: undefined, made: [['x'], ['y', 'z']], then: ['x'] },
  { given: 'lists of one length', has: ['own'], made: [['x'], ['y']], then: ['own'] },
  { given: 'lists of one length, and no own one', has: undefined, made: [['x'], ['y']], then: ['x'] },
  { given: 'lists of one length, and a longer one', has: ['own', 'z'], made: [['x'], ['y']], then: ['x'] },
  { given: 'lists of one length, and a text of that length', has: 'o', made: [['x'], ['y']], then: ['x'] },
  { given: 'another list and its own one', has: [null], made: [['x'], own], then: [null] },
])('given $given from two transforms of an object that has $has, then it is $then', ({ has, made, then }) => {
  const union = unionOf(made.map(making)).apply(deepFreeze({ metadata: thing.metadata!, spec: { at: has } }));
  expect(union?.spec['at']).toStrictEqual(then);
});

it('given transforms, then the id of their union has the ids of all, and an empty one for the whole object', () => {
  expect(unionOf([names, undefined, driver]).id).toBe('names; ; driver');
});

it('given an object that no union has kept, then nothing keeps it', () => {
  expect(keepersOf(thing)).toBe(0);
});
