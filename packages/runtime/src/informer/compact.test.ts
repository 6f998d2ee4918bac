// SPDX-License-Identifier: Apache-2.0
/** Which parts of cached objects become one. Each part is the field `part` of an object of its own. */
import { describe, expect, it } from 'vitest';
import { type Compact, type CompactOptions, createCompact } from './compact.ts';

function compacting(options?: CompactOptions): (part: object) => unknown {
  const compact: Compact = createCompact(options);
  return (part) => {
    const object = { part: structuredClone(part) };
    compact(object);
    return object.part;
  };
}

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);
const letters = (count: number) => numbers(count).map((index) => `letter ${index}`);

describe('equal parts', () => {
  it.each<readonly [string, object]>([
    ['an empty record', {}],
    ['an empty list', []],
    ['numbers, booleans and null', { a: 1, b: true, c: null }],
    // Its digest would be the one that says that a value is not shared.
    ['the number 64', { a: 64 }],
    ['a string of 64 characters', ['x'.repeat(64)]],
    ['16 numbers', numbers(16)],
    ['16 strings', letters(16)],
    ['a list of 5 behind 11 numbers and strings', [numbers(5), ...numbers(8), ...letters(3)]],
    ['a list of 10, then numbers', [numbers(10), 1, 2]],
    ['a list of 10, then strings', [numbers(10), 'a', 'b']],
    ['records in lists in records', { terms: [{ key: 'zone', values: ['a', 'b'] }] }],
  ])('given %s in two objects, then the second one gets that of the first', (_, part) => {
    const shared = compacting();
    const first = shared(part);
    expect(first).toEqual(part);
    expect(shared(part)).toBe(first);
  });

  it.each<readonly [string, object]>([
    ['17 numbers', numbers(17)],
    ['17 strings', letters(17)],
    ['four lists of five', [numbers(5), numbers(5, 10), numbers(5, 20), numbers(5, 30)]],
    ['a string of 65 characters', ['x'.repeat(65)]],
    ['a string of 65 characters behind a short one', ['short', 'x'.repeat(65)]],
    ['a record that names an object by its uid', { name: 'a', uid: 'u' }],
    ...[
      'resourceVersion',
      'creationTimestamp',
      'deletionTimestamp',
      'lastPhaseTransitionTime',
      'lastTransitionTime',
      'startTime',
      'volumeHandle',
      'snapshotHandle',
      'volumeName',
      'persistentVolumeName',
      'claimName',
    ].map((field) => [`a record with ${field}`, { [field]: 'a', other: 'b' }] as const),
  ])('given %s in two objects, which is large or unique by nature, then each keeps its own', (_, part) => {
    const shared = compacting();
    const first = shared(part);
    const second = shared(part);
    expect(second).toEqual(part);
    expect(second).not.toBe(first);
  });

  it('given lists that are too long to be shared, then their parts are', () => {
    const shared = compacting();
    const [first, second] = [shared([{ a: 1 }, ...numbers(17)]), shared([{ a: 1 }, ...numbers(18)])] as object[][];
    expect(second![0]).toBe(first![0]);
  });

  it('given a string in the first level of an object, then it stays as it is', () => {
    const object = { kind: 'Volume', part: null };
    createCompact()(object);
    expect(object).toEqual({ kind: 'Volume', part: null });
  });
});

describe('parts that differ', () => {
  it.each<readonly [string, object, object]>([
    ['another number', { a: 1 }, { a: 2 }],
    ['another number in a list', [1], [2]],
    ['another number behind the same text', ['x', 1], ['x', 2]],
    ['another text', { a: 'b' }, { a: 'c' }],
    ['another name', { a: 1 }, { b: 1 }],
    ['one more field', { a: 1 }, { a: 1, b: 2 }],
    ['a number in place of a boolean', { a: 1 }, { a: true }],
    ['null in place of a number', { a: 0 }, { a: null }],
    ['another name of a field that has no value', { a: undefined }, { b: null }],
    ['a record in place of a list', { a: 296 }, [102_517]],
    ['a list in place of a record', [102_517], { a: 296 }],
    ['a shorter list', [13, 202], [144_406]],
    ['a longer list', [144_406], [13, 202]],
    ['the first element of a longer list', [1], [1, 2]],
  ])('given %s, then none is taken for the other, although some have the same digest', (_, one, other) => {
    const shared = compacting();
    shared(one);
    expect(shared(other)).toStrictEqual(other);
  });

  it('given parts with digests of their own between two equal parts, then these are shared', () => {
    const shared = compacting();
    for (const [part, between] of [
      [
        ['x', 1],
        ['x', 2],
      ],
      [[1], [2]],
      [{ a: 1 }, { a: 2 }],
      [
        [[1], 2],
        [[1], 3],
      ],
    ] as const) {
      const first = shared(part);
      shared(between);
      expect(shared(part)).toBe(first);
    }
  });
});

describe('the tables', () => {
  it('given a full table, then what was used since the one before is kept, and the rest is forgotten', () => {
    const shared = compacting({ tableSize: 2 });
    const [first, second] = [shared([1]), shared([2])];
    shared([3]);
    expect(shared([1])).toBe(first);
    shared([4]);
    expect(shared([1])).toBe(first);
    expect(shared([2])).not.toBe(second);
  });

  it('given what is unique by nature, then it takes no place in the tables', () => {
    const shared = compacting({ tableSize: 2 });
    const first = shared({ driver: 'd' });
    for (const index of numbers(20))
      shared({ uid: `uid ${index}`, name: `name ${index}`, volumeHandle: `handle ${index}` });
    expect(shared({ driver: 'd' })).toBe(first);
  });
});
