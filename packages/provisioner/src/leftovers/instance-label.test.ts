// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { instanceLabelOf, isInstanceLabel } from './instance-label.ts';

/** The long ones were computed apart from this code, by the steps of upstream's function. */
it.each([
  ['worker-1', 'external-provisioner-worker-1'],
  ['a'.repeat(45), `external-53f40b57-${'a'.repeat(45)}`],
  ['a'.repeat(60), 'external-provisioner-78174452'],
])('given node %s, then its instance is known by its label', (node, label) => {
  expect([instanceLabelOf(node), isInstanceLabel(instanceLabelOf(node))]).toEqual([label, true]);
});

it('given the label of a central deployment or of another program, then it is that of no instance of a node', () => {
  expect(['external-provisioner', 'local-volumes', ''].map(isInstanceLabel)).toEqual([false, false, false]);
});
