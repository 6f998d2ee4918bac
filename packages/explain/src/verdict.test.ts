// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { isOfCluster, isProgram, programs, type StageId, type Verdict, type VerdictExit, worst } from './verdict.ts';

type Judged = Pick<Verdict, 'exit' | 'stage'>;
const judged = (exit: VerdictExit, stage?: StageId): Judged => ({ exit, stage });

it.each<readonly [first: Judged, other: Judged]>([
  [judged(6), judged(4, 'class')],
  [judged(4, 'use'), judged(5, 'class')],
  [judged(5, 'use'), judged(3, 'class')],
  [judged(3, 'use'), judged(0)],
  [judged(4, 'provision'), judged(4, 'record')],
  [judged(3, 'register'), judged(3, 'node id')],
  [judged(3, 'attach'), judged(3, 'stage')],
])('given the verdicts %j and %j in either order, when compared, then the former is the worst', (first, other) => {
  expect([worst([first, other]), worst([other, first])]).toEqual([first, first]);
});

it('given verdicts that are equally urgent, when compared, then the first of them is the worst; of none there is none', () => {
  const [left, right] = [judged(3, 'attach'), judged(3, 'attach')];
  expect(worst([judged(0), left, right])).toBe(left);
  expect(worst([])).toBe(undefined);
});

it('given actors, when asked, then programs are those with a Lease, and two of them are of the cluster', () => {
  expect((['kubelet', 'driver', 'kube-scheduler', 'nobody', 'csi-resizer'] as const).filter(isProgram)).toEqual([
    'csi-resizer',
  ]);
  expect(programs.filter(isOfCluster)).toEqual(['snapshot-controller', 'volume-data-source-validator']);
  expect(isOfCluster('csi-snapshot-metadata')).toBe(false);
});
