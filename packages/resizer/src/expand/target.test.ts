// SPDX-License-Identifier: Apache-2.0
/** One line for each way to choose a size. */
import { describe, expect, it } from 'vitest';
import { sizeOf } from '../../testing/builders.ts';
import { toText } from '../size.ts';
import { chooseLegacyTarget, chooseTarget, type TargetFacts } from './target.ts';

interface Row extends Partial<
  Pick<TargetFacts, 'resizeStatus' | 'isFinal' | 'isTrivial' | 'isFileSystemResizePending'>
> {
  readonly id: string;
  readonly spec: string;
  readonly alloc?: string;
  readonly pv: string;
  /** The capacity of the claim. Default: 1G. */
  readonly has?: string;
  /** Row and size, or `wait`. */
  readonly then: string;
}

const [inProgress, infeasible] = ['ControllerResizeInProgress', 'ControllerResizeInfeasible'];
const [nodePending, nodeInProgress] = ['NodeResizePending', 'NodeResizeInProgress'];
const nodeInfeasible = 'NodeResizeInfeasible';
const rows: readonly Row[] = [
  { id: '[resizer#S1]', spec: '10G', alloc: '3G', pv: '3Gi', resizeStatus: nodeInfeasible, then: 'S1 3G' },
  { id: '[resizer#S1]', spec: '10G', pv: '3Gi', resizeStatus: nodeInfeasible, then: 'S1 10G' },
  { id: '[resizer#S2]', spec: '10G', alloc: '3G', pv: '3G', resizeStatus: nodePending, then: 'S2 wait' },
  { id: '[resizer#S2]', spec: '10G', alloc: '3G', pv: '3Gi', resizeStatus: nodeInProgress, then: 'S2 wait' },
  {
    id: '[resizer#S11, 216]',
    spec: '10G',
    alloc: '3G',
    pv: '3G',
    has: '3G',
    resizeStatus: nodePending,
    then: 'S11 10G',
  },
  {
    id: '[resizer#S11, 216]',
    spec: '10G',
    alloc: '3G',
    pv: '3Gi',
    has: '4G',
    resizeStatus: nodeInProgress,
    then: 'S11 10G',
  },
  { id: '[resizer#S3]', spec: '10G', alloc: '3G', pv: '2Gi', has: '4G', resizeStatus: nodePending, then: 'S3 3G' },
  { id: '[resizer#S3]', spec: '10G', alloc: '3G', pv: '2Gi', resizeStatus: nodePending, then: 'S3 3G' },
  { id: '[resizer#S3]', spec: '10G', pv: '2Gi', resizeStatus: nodeInProgress, then: 'S3 10G' },
  { id: '[resizer#S4]', spec: '5G', alloc: '10G', pv: '3Gi', resizeStatus: inProgress, then: 'S4 10G' },
  { id: '[resizer#S4]', spec: '5G', pv: '3Gi', resizeStatus: inProgress, then: 'S4 5G' },
  { id: '[resizer#S4]', spec: '5G', alloc: '10G', pv: '3Gi', resizeStatus: inProgress, isFinal: true, then: 'S4 5G' },
  { id: '[resizer#S5]', spec: '5G', alloc: '10G', pv: '3Gi', then: 'S5 5G' },
  { id: '[resizer#S5]', spec: '5G', alloc: '10G', pv: '3Gi', resizeStatus: infeasible, then: 'S5 5G' },
  { id: '[resizer#S5]', spec: '5G', alloc: '10G', pv: '3Gi', resizeStatus: 'SomethingNew', then: 'S5 5G' },
  { id: '[resizer#S6]', spec: '5G', alloc: '10G', pv: '5G', resizeStatus: nodePending, then: 'S6 wait' },
  { id: '[resizer#S6]', spec: '5G', pv: '5G', resizeStatus: nodeInProgress, then: 'S6 wait' },
  { id: '[resizer#S7]', spec: '5G', alloc: '10G', pv: '10G', resizeStatus: nodeInfeasible, then: 'S7 10G' },
  { id: '[resizer#S7]', spec: '5G', pv: '10G', resizeStatus: nodeInfeasible, then: 'S7 5G' },
  {
    id: '[resizer#S7]',
    spec: '5G',
    alloc: '10G',
    pv: '10G',
    resizeStatus: nodeInfeasible,
    isTrivial: true,
    then: 'S7 5G',
  },
  { id: '[resizer#S8]', spec: '5G', alloc: '10G', pv: '5G', resizeStatus: inProgress, then: 'S8 10G' },
  { id: '[resizer#S8]', spec: '5G', alloc: '10G', pv: '5G', resizeStatus: inProgress, isFinal: true, then: 'S8 10G' },
  { id: '[resizer#S8]', spec: '5G', pv: '5G', resizeStatus: infeasible, then: 'S8 5G' },
  { id: '[resizer#S9]', spec: '5G', alloc: '10G', pv: '5G', then: 'S9 10G' },
  { id: '[resizer#S9]', spec: '5G', alloc: '10G', pv: '5G', isFileSystemResizePending: true, then: 'S9 10G' },
  { id: '[resizer#S10]', spec: '5G', pv: '5G', then: 'S10 5G' },
  { id: '[resizer#S10]', spec: '5G', pv: '5G', isFileSystemResizePending: true, then: 'S10 wait' },
  { id: '[resizer#S10]', spec: '5G', alloc: '10G', pv: '5G', resizeStatus: 'SomethingNew', then: 'S10 5G' },
  // Called directly: in the program row E5 comes first.
  { id: '[resizer#21]', spec: '1G', pv: '1Gi', then: 'S10 1G' },
];

describe('the size to ask for', () => {
  it.each(rows)(
    '$id given $spec requested, $alloc allocated, $resizeStatus, PersistentVolume of $pv, capacity $has, then $then',
    ({ spec, alloc, pv, has = '1G', then, ...facts }) => {
      const target = chooseTarget({
        requested: sizeOf(spec),
        capacity: sizeOf(has),
        allocated: alloc === undefined ? undefined : sizeOf(alloc),
        volumeCapacity: sizeOf(pv),
        resizeStatus: '',
        isFinal: false,
        isTrivial: false,
        isFileSystemResizePending: false,
        ...facts,
      });
      expect(`${target.row} ${target.kind === 'expand' ? toText(target.size) : target.kind}`).toBe(then);
    },
  );
});

it.each([
  { id: '[resizer#L1]', spec: '5G', pv: '5G', pending: true, then: 'L1 wait' },
  { id: '[resizer#L2]', spec: '5G', pv: '5G', pending: false, then: 'L2 5G' },
  { id: '[resizer#L2]', spec: '5G', pv: '3G', pending: true, then: 'L2 5G' },
])(
  '$id given no recovery, $spec requested, PersistentVolume of $pv, waiting for the node: $pending, then $then',
  ({ spec, pv, pending, then }) => {
    const facts = { requested: sizeOf(spec), volumeCapacity: sizeOf(pv), isFileSystemResizePending: pending };
    const target = chooseLegacyTarget(facts);
    expect(`${target.row} ${target.kind === 'expand' ? toText(target.size) : target.kind}`).toBe(then);
  },
);
