// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { nearest } from './nearest.ts';

const names = ['csi-address', 'leader-election', 'leader-election-namespace', 'timeout', 'resync'];

it.each([
  ['a letter that is left out', 'timout', 'timeout'],
  ['a letter too many', 'timeeout', 'timeout'],
  ['another letter', 'csi-adddess', 'csi-address'],
  ['two letters swapped', 'reysnc', 'resync'],
  ['two pairs swapped, which is all that three letters allow', 'erysnc', 'resync'],
  ['letters of another case', 'LEADER-ELECTION', 'leader-election'],
  ['a shorter form', 'leader-elect', 'leader-election'],
  ['an older name', 'enable-leader-election', 'leader-election'],
  ['the name itself', 'timeout', 'timeout'],
  ['a third of the letters wrong', 'xyzync', undefined],
  ['nothing alike', 'provisioner', undefined],
  ['an empty name', '', undefined],
])('[common#80] given %s, %s, then %s was meant', (_, wrong, meant) => {
  expect(nearest(wrong, names)).toBe(meant);
});

it('given two names that are equally near, then the first is chosen', () => {
  expect(nearest('workerz', ['workera', 'workerb'])).toBe('workera');
});
