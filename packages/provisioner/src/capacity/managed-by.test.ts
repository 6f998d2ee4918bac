// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { isOfNode, managedByOf } from './managed-by.ts';

const nodeOf = (letters: number): string => `node${'a'.repeat(letters)}`;

it.each([
  { node: 'node01', label: 'external-provisioner-node01' },
  { node: nodeOf(38), label: `external-provisioner-${nodeOf(38)}` },
  { node: nodeOf(39), label: `external-p-53f40b57-${nodeOf(39)}` },
  { node: nodeOf(48), label: `e-53f40b57-${nodeOf(48)}` },
  { node: nodeOf(49), label: 'external-provisioner-a3607ff1' },
  { node: nodeOf(63), label: 'external-provisioner-df38e37f' },
])(
  '[provisioner-topology-capacity#P2] given the node $node, then its label is the one of upstream, with at most 63 characters',
  ({ node, label }) => {
    expect(managedByOf(node)).toBe(label);
    expect(label.length).toBeLessThanOrEqual(63);
    expect(isOfNode(label)).toBe(true);
  },
);

it('given the label of a central deployment or of another program, then it is not that of a node', () => {
  expect(['external-provisioner', 'local-volumes', ''].map(isOfNode)).toEqual([false, false, false]);
});
