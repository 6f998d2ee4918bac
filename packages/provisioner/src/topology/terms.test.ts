// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { compareTerms, flatten, isSubset, rotate, sortUnique, type Term, toTerm } from './terms.ts';

const term = (segments: Record<string, string>): Term => toTerm(Object.entries(segments));
const select = (
  ...expressions: [key: string, values: string[]][]
): { matchLabelExpressions: { key: string; values: string[] }[] } => ({
  matchLabelExpressions: expressions.map(([key, values]) => ({ key, values })),
});

describe('terms', () => {
  it.each([
    { a: {}, b: { zone: 'z' }, subset: true },
    { a: { zone: 'z' }, b: { instance: 'i', zone: 'z' }, subset: true },
    { a: { instance: 'i', zone: 'z' }, b: { instance: 'i' }, subset: false },
    { a: { instance: 'i', zone: 'z' }, b: { zone: 'z' }, subset: false },
    { a: { rack: 'r' }, b: { zone: 'z' }, subset: false },
    { a: { zone: 'z' }, b: { zone: 'y' }, subset: false },
  ])(
    '[provisioner-topology-capacity#T39] given $a and $b, when asked whether a subset, then $subset',
    ({ a, b, subset }) => {
      expect(isSubset(term(a), term(b))).toBe(subset);
    },
  );

  it('[provisioner-topology-capacity#T40] given terms, when sorted, then shorter first, then by key and value', () => {
    const sorted = [{}, { instance: 'i' }, { zone: 'z' }, { instance: 'i', zone: 'a' }, { instance: 'i', zone: 'b' }];
    expect(sorted.toReversed().map(term).sort(compareTerms)).toEqual(sorted.map(term));
  });

  it('[provisioner-topology-capacity#T25,T27] given overlapping terms, when sorted, then exact duplicates are removed', () => {
    const overlapping = flatten([select(['zone', ['z1', 'z2']]), select(['zone', ['z2', 'z3']])]);
    expect(sortUnique(overlapping)).toEqual([{ zone: 'z1' }, { zone: 'z2' }, { zone: 'z3' }].map(term));
    const product = select(['zone', ['z1']], ['rack', ['rA', 'rB']]);
    expect(sortUnique(flatten([product, product]))).toHaveLength(2);
  });

  it('[provisioner-topology-capacity#T26] given a term and its refinements, when sorted, then the subset stays and comes first', () => {
    const allowed = [select(['zone', ['z1', 'z2']], ['rack', ['rA', 'rB']]), select(['zone', ['z1']])];
    expect(sortUnique(flatten(allowed))).toEqual(
      [
        { zone: 'z1' },
        { rack: 'rA', zone: 'z1' },
        { rack: 'rA', zone: 'z2' },
        { rack: 'rB', zone: 'z1' },
        { rack: 'rB', zone: 'z2' },
      ].map(term),
    );
  });

  it('[provisioner-topology-capacity#T28] given terms with different keys, when sorted, then both are kept by key', () => {
    expect(sortUnique(flatten([select(['zone', ['z1']]), select(['rack', ['rA']])]))).toEqual(
      [{ rack: 'rA' }, { zone: 'z1' }].map(term),
    );
  });

  it('given an expression without values, when flattened, then it clears the values collected before in its term', () => {
    expect(flatten([select(['zone', ['z1']], ['rack', []], ['disk', ['ssd']])])).toEqual([term({ disk: 'ssd' })]);
    expect(flatten([{}, select(['zone', []])])).toEqual([]);
  });

  it('given a list, when rotated, then the original is unchanged', () => {
    const list = ['a', 'b', 'c', 'd'].map((zone) => term({ zone }));
    expect(rotate(list, 1)).toEqual(['b', 'c', 'd', 'a'].map((zone) => term({ zone })));
    expect(list[0]).toEqual(term({ zone: 'a' }));
  });
});
