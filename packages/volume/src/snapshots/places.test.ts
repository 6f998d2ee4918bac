// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { TopologySelectorTerm } from './objects.ts';
import {
  intersectPlaces,
  isOutside,
  namesTerms,
  type Place,
  readPlaces,
  toSelectorTerms,
  toTerms,
  toTopologies,
} from './places.ts';

const term = (expressions: Readonly<Record<string, readonly string[]>>): TopologySelectorTerm => ({
  matchLabelExpressions: Object.entries(expressions).map(([key, values]) => ({ key, values })),
});
function places(...terms: readonly TopologySelectorTerm[]): readonly Place[] {
  const read = readPlaces(terms);
  if (read.kind === 'error') throw new Error(read.message);
  return read.value ?? [];
}
const some = (count: number, name: string): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${name}${at}`);

describe('reading a field', () => {
  it.each([undefined, null, []])('given %j, then it restricts nothing', (field) => {
    expect(readPlaces(field)).toEqual({ kind: 'ok', value: undefined });
  });

  it.each([
    { given: 'a text', field: 'zone-a', message: 'it is not a list' },
    { given: 'an object', field: { zone: 'a' }, message: 'it is not a list' },
    { given: 'a term that is a text', field: ['zone-a'], message: 'a term has no list of matchLabelExpressions' },
    { given: 'a term that is null', field: [null], message: 'a term has no list of matchLabelExpressions' },
    {
      given: 'expressions that are no list',
      field: [{ matchLabelExpressions: 'zone' }],
      message: 'a term has no list of matchLabelExpressions',
    },
    ...[null, 'zone', { values: ['a'] }, { key: '', values: ['a'] }, { key: 5, values: ['a'] }].map((expression) => ({
      given: `the expression ${JSON.stringify(expression)}`,
      field: [{ matchLabelExpressions: [expression] }],
      message: 'an expression has no key, or values that are no list of strings',
    })),
    ...['a', [1], [null], { a: 'b' }].map((values) => ({
      given: `the values ${JSON.stringify(values)}`,
      field: [{ matchLabelExpressions: [{ key: 'zone', values }] }],
      message: 'an expression has no key, or values that are no list of strings',
    })),
    { given: 'a term without expressions', field: [{}], message: 'its terms match nothing' },
    { given: 'an expression without values', field: [term({ zone: [] })], message: 'its terms match nothing' },
    {
      given: 'a key twice with different values',
      field: [{ matchLabelExpressions: ['a', 'b'].map((value) => ({ key: 'zone', values: [value] })) }],
      message: 'its terms match nothing',
    },
    {
      given: 'ten keys with ten values each',
      field: [term(Object.fromEntries(some(10, 'key').map((key) => [key, some(10, 'v')])))],
      message: 'it stands for more than 10000 topologies',
    },
  ])('given $given, then it is refused', ({ field, message }) => {
    expect(readPlaces(field)).toEqual({ kind: 'error', message });
  });

  it('given a term that matches nothing beside another one, then the other one counts', () => {
    expect(toTerms(places({}, term({ zone: [] }), term({ zone: ['a'] })))).toEqual([term({ zone: ['a'] })]);
  });

  it('given a key twice, then the values that both expressions name count', () => {
    const twice = {
      matchLabelExpressions: [
        ['a', 'b', 'b'],
        ['b', 'c'],
      ].map((values) => ({ key: 'zone', values })),
    };
    expect(toTerms(places(twice))).toEqual([term({ zone: ['b'] })]);
  });

  it(
    'given hundreds of thousands of values of one key twice, then they are not compared one with another',
    { timeout: 20_000 },
    () => {
      const [first, second] = [some(200_000, 'a'), [...some(200_000, 'b'), 'a7']];
      const twice = { matchLabelExpressions: [first, second].map((values) => ({ key: 'zone', values })) };
      expect(toTerms(places(twice))).toEqual([term({ zone: ['a7'] })]);
    },
  );
});

describe('topologies of an answer', () => {
  it('given two topologies, then two terms in their order, with sorted keys', () => {
    expect(toSelectorTerms([{ segments: { zone: 'b', region: 'r' } }, { segments: { zone: 'a' } }])).toEqual([
      term({ region: ['r'], zone: ['b'] }),
      term({ zone: ['a'] }),
    ]);
  });

  it('given equal topologies and one without segments, then each is named once', () => {
    const twice = [{ segments: { zone: 'a', rack: '' } }, {}, { segments: {} }, { segments: { rack: '', zone: 'a' } }];
    expect(toSelectorTerms(twice)).toEqual([term({ rack: [''], zone: ['a'] })]);
  });

  it.each([[[]], [[{ segments: {} }]]])('given %j, then nothing is left', (topologies) => {
    expect(toSelectorTerms(topologies)).toBe(undefined);
  });

  it('given terms in another spelling or order, then they are the same; given other ones or garbage, then not', () => {
    const wanted = [term({ region: ['r'], zone: ['a'] }), term({ zone: ['b'] })];
    expect(namesTerms([term({ zone: ['a'], region: ['r'] }), term({ zone: ['b'] })], wanted)).toBe(true);
    expect(namesTerms(wanted.toReversed(), wanted)).toBe(true);
    expect(namesTerms(wanted.slice(1), wanted)).toBe(false);
    expect(namesTerms(undefined, wanted)).toBe(false);
    expect(namesTerms('garbage', wanted)).toBe(false);
  });
});

describe('requests', () => {
  it('given several keys and values, then every combination is a topology, once', () => {
    expect(
      toTopologies(places(term({ zone: ['a', 'b'], rack: ['1', '2'] }), term({ zone: ['a'], rack: ['1'] }))),
    ).toEqual(['1', '2'].flatMap((rack) => ['a', 'b'].map((zone) => ({ segments: { rack, zone } }))));
  });
});

describe('the intersection', () => {
  const of = (left: readonly TopologySelectorTerm[], right: readonly TopologySelectorTerm[]): unknown => {
    const common = intersectPlaces(places(...left), places(...right));
    return common.kind === 'ok' ? toTerms(common.value) : common.message;
  };

  it.each([
    { left: [term({ zone: ['a', 'b'] })], right: [term({ zone: ['b', 'c'] })], common: [term({ zone: ['b'] })] },
    { left: [term({ zone: ['a'] })], right: [term({ zone: ['b'] })], common: [] },
    {
      left: [term({ region: ['r'], zone: ['a'] })],
      right: [term({ zone: ['a', 'b'] })],
      common: [term({ region: ['r'], zone: ['a'] })],
    },
    { left: [term({ region: ['r'] })], right: [term({ zone: ['a'] })], common: [term({ region: ['r'], zone: ['a'] })] },
    {
      left: [term({ zone: ['a'] }), term({ zone: ['b'] })],
      right: [term({ zone: ['b'] }), term({ zone: ['a'] })],
      common: [term({ zone: ['a'] }), term({ zone: ['b'] })],
    },
  ])('given $left and $right, then $common', ({ left, right, common }) => {
    expect(of(left, right)).toEqual(common);
  });

  it('given thousands of terms on both sides, then they are not compared', () => {
    const many = some(2_000, 'v').map((value) => term({ zone: [value] }));
    expect(of(many, many)).toBe('there are too many terms to compare');
  });

  it('given lists that multiply each other, then they are refused', () => {
    expect(of([term({ zone: some(200, 'a') })], [term({ rack: some(200, 'b') })])).toBe(
      'they have more than 10000 topologies in common',
    );
  });
});

describe('a node', () => {
  it.each([
    { labels: { zone: 'a' }, outside: false },
    { labels: { zone: 'c' }, outside: true },
    { labels: { zone: 'c', region: 'r' }, outside: true },
    { labels: { region: 's' }, outside: false },
    { labels: {}, outside: false },
  ])('given the labels $labels, then it is outside: $outside', ({ labels, outside }) => {
    expect(isOutside(places(term({ region: ['r'], zone: ['a'] }), term({ zone: ['b'] })), labels)).toBe(outside);
  });
});
