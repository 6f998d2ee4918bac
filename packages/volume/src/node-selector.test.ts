// SPDX-License-Identifier: Apache-2.0
/** The rules of Kubernetes' nodeaffinity package. */
import { describe, expect, it } from 'vitest';
import { selectsNode } from './node-selector.ts';

type Term = Parameters<typeof selectsNode>[0][number];
const node = { name: 'n1', labels: { zone: 'z1', cpus: '8' } };
const label = (operator: string, values?: readonly string[], key = 'zone'): Term => ({
  matchExpressions: [values === undefined ? { key, operator } : { key, operator, values }],
});
const named = (operator: string, values: readonly string[], key = 'metadata.name'): Term => ({
  matchFields: [{ key, operator, values }],
});

describe('one requirement', () => {
  it.each<{ term: Term; expected: boolean }>([
    { term: label('In', ['z0', 'z1']), expected: true },
    { term: label('In', ['z2']), expected: false },
    { term: label('In', ['z1'], 'rack'), expected: false },
    { term: label('In'), expected: false },
    { term: label('NotIn', ['z2']), expected: true },
    { term: label('NotIn', ['z1']), expected: false },
    { term: label('NotIn', ['z1'], 'rack'), expected: true },
    { term: label('Exists'), expected: true },
    { term: label('Exists', [], 'rack'), expected: false },
    { term: label('DoesNotExist'), expected: false },
    { term: label('DoesNotExist', [], 'rack'), expected: true },
    { term: label('Gt', ['7'], 'cpus'), expected: true },
    { term: label('Gt', ['8'], 'cpus'), expected: false },
    { term: label('Gt', ['9'], 'cpus'), expected: false },
    { term: label('Gt', ['-1'], 'cpus'), expected: true },
    { term: label('Lt', ['9'], 'cpus'), expected: true },
    { term: label('Lt', ['10'], 'cpus'), expected: true },
    { term: label('Lt', ['8'], 'cpus'), expected: false },
    { term: label('Lt', ['7'], 'cpus'), expected: false },
    { term: label('Gt', ['many'], 'cpus'), expected: false },
    { term: label('Gt', [], 'cpus'), expected: false },
    { term: label('Gt', ['1']), expected: false },
    { term: label('Lt', ['1'], 'rack'), expected: false },
    { term: label('Later', ['z1']), expected: false },
    { term: named('In', ['n1']), expected: true },
    { term: named('In', ['n2']), expected: false },
    { term: named('NotIn', ['n1']), expected: false },
    { term: named('In', ['n1'], 'metadata.uid'), expected: false },
  ])('given $term, then whether it selects the node is $expected', ({ term, expected }) => {
    expect(selectsNode([term], node)).toBe(expected);
  });
});

describe('several', () => {
  it.each<{ given: string; terms: readonly Term[]; expected: boolean }>([
    { given: 'no term', terms: [], expected: false },
    { given: 'a term without requirements', terms: [{}], expected: false },
    { given: 'terms of which one matches', terms: [label('In', ['z2']), label('In', ['z1'])], expected: true },
    { given: 'terms of which none matches', terms: [label('In', ['z2']), label('In', ['z3'])], expected: false },
    { given: 'labels and a name that match', terms: [{ ...label('Exists'), ...named('In', ['n1']) }], expected: true },
    { given: 'another name beside labels', terms: [{ ...label('Exists'), ...named('In', ['n2']) }], expected: false },
    { given: 'other labels beside the name', terms: [{ ...label('In'), ...named('In', ['n1']) }], expected: false },
    {
      given: 'a term of which one label does not match',
      terms: [
        {
          matchExpressions: [
            { key: 'zone', operator: 'Exists' },
            { key: 'rack', operator: 'Exists' },
          ],
        },
      ],
      expected: false,
    },
    {
      given: 'a term of which one field does not match',
      terms: [
        {
          matchFields: [
            { key: 'metadata.name', operator: 'In', values: ['n1'] },
            { key: 'metadata.name', operator: 'In', values: ['n2'] },
          ],
        },
      ],
      expected: false,
    },
  ])('given $given, then whether the node is selected is $expected', ({ terms, expected }) => {
    expect(selectsNode(terms, node)).toBe(expected);
  });

  it('given a node without labels, then a label that must not exist does not', () => {
    expect(selectsNode([label('DoesNotExist')], { name: 'n1', labels: undefined })).toBe(true);
  });
});
