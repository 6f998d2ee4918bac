// SPDX-License-Identifier: Apache-2.0
import { done, retry } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aVolume, driverName } from '../../testing/builders.ts';
import { decide } from './decide.ts';
import type { Action, ReleaseState } from './state.ts';

const failure = new Error('no');
const deleting = aVolume({ deleting: 'yes' });
const removed = 'done' as const;
const observed = {
  volume: deleting,
  isAttached: false,
  removed: 'untried',
} as const;

it.each<{ id: string; because: string; given: Partial<ReleaseState>; then: Action }>([
  {
    id: '[attacher#F1]',
    because: 'a volume that is not being deleted',
    given: { volume: aVolume() },
    then: { row: 'F1', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#F1]',
    because: 'a volume that is gone',
    given: { volume: undefined },
    then: { row: 'F1', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#F2]',
    because: 'a volume being deleted that still has an attachment',
    given: { isAttached: true },
    then: { row: 'F2', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#F3]',
    because: 'a volume being deleted without attachments',
    given: {},
    then: { row: 'F3', kind: 'removeFinalizer', volume: deleting },
  },
  {
    id: '[attacher#F4]',
    because: 'the finalizer was removed',
    given: { removed },
    then: { row: 'F4', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#F4]',
    because: 'the finalizer was removed, and an attachment was created meanwhile',
    given: { removed, isAttached: true },
    then: { row: 'F4', kind: 'conclude', outcome: done },
  },
  {
    id: '[attacher#F4]',
    because: 'a failure to remove the finalizer',
    given: { removed: { failure } },
    then: { row: 'F4', kind: 'conclude', outcome: retry(failure) },
  },
])('$id given $because, then the action is $then.kind', ({ given, then }) => {
  expect(decide({ ...observed, ...given }, driverName)).toEqual(then);
});
