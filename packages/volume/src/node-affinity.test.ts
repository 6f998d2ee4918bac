// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { isReachableFrom, toNodeAffinity } from './node-affinity.ts';

const term = (...expressions: [key: string, value: string][]): unknown => ({
  matchExpressions: expressions.map(([key, value]) => ({ key, operator: 'In', values: [value] })),
});
const affinity = (...nodeSelectorTerms: unknown[]): unknown => ({ required: { nodeSelectorTerms } });

describe('node affinity', () => {
  it('[provisioner-topology-capacity#F1,F2] given no topology or an empty list, when translated, then none', () => {
    expect([toNodeAffinity(undefined), toNodeAffinity([])]).toEqual([undefined, undefined]);
  });

  it('[provisioner-topology-capacity#F3] given one segment, when translated, then one term with one expression', () => {
    expect(toNodeAffinity([{ segments: { zone: 'z1' } }])).toEqual(affinity(term(['zone', 'z1'])));
  });

  it('[provisioner-topology-capacity#F4] given several segments, when translated, then one term sorted by key', () => {
    expect(toNodeAffinity([{ segments: { row: 'w1', zone: 'z1', rack: 'r1' } }])).toEqual(
      affinity(term(['rack', 'r1'], ['row', 'w1'], ['zone', 'z1'])),
    );
  });

  it('[provisioner-topology-capacity#F5] given two topologies, when translated, then two terms in their order', () => {
    expect(toNodeAffinity([{ segments: { zone: 'z2' } }, { segments: { zone: 'z1' } }])).toEqual(
      affinity(term(['zone', 'z2']), term(['zone', 'z1'])),
    );
  });

  it('[provisioner-topology-capacity#F6] given one topology without segments among others, when translated, then it is skipped', () => {
    expect(toNodeAffinity([{}, { segments: { zone: 'z1' } }])).toEqual(affinity(term(['zone', 'z1'])));
  });

  it('[provisioner-topology-capacity#F7] given only topologies without segments, when translated, then none, because the API refuses an empty list of terms', () => {
    expect(toNodeAffinity([{ segments: {} }, {}])).toBeUndefined();
  });
});

describe('reachability', () => {
  const inZone = {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['z1'] }] }] },
  };
  const named = { required: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'Exists' }] }] } };
  it.each([
    { given: 'the zone of the volume', affinity: inZone, segments: { zone: 'z1' }, expected: true },
    { given: 'another zone', affinity: inZone, segments: { zone: 'z2' }, expected: false },
    { given: 'no label', affinity: inZone, segments: {}, expected: false },
    { given: 'a driver without topology', affinity: inZone, segments: undefined, expected: true },
    { given: 'a volume without affinity', affinity: undefined, segments: {}, expected: true },
    { given: 'an affinity that requires nothing', affinity: {}, segments: {}, expected: true },
    { given: 'an affinity for a named node', affinity: named, segments: { zone: 'z1' }, expected: false },
  ])('given $given, then the volume can be reached: $expected', ({ affinity: of, segments, expected }) => {
    expect(isReachableFrom(of, segments)).toBe(expected);
  });
});
