// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { toNodeAffinity } from './node-affinity.ts';

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

  it('[provisioner-topology-capacity#F4] given two segments, when translated, then one term sorted by key', () => {
    expect(toNodeAffinity([{ segments: { zone: 'z1', rack: 'r1' } }])).toEqual(
      affinity(term(['rack', 'r1'], ['zone', 'z1'])),
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
