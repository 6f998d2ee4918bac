// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aClaim, aCondition } from '../testing/builders.ts';
import { conditionsPatch, modifyConditions, resizeConditions, transitionTime } from './conditions.ts';

const [before, nowMs] = ['2025-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:00Z')];
const now = '2026-01-01T00:00:00Z';

it('given conditions to set and to remove, then the others stay in their places, new ones come last, and fields without a value are removed', () => {
  const claim = aClaim({ conditions: ['Foreign', 'NodeResizeError', 'Resizing'].map((type) => aCondition(type)) });
  const error = { type: 'ModifyVolumeError', message: 'no', reason: 'Internal', lastProbeTime: now } as const;
  const set = [{ ...error, lastTransitionTime: now }, { type: 'Resizing', lastTransitionTime: before } as const];
  expect(conditionsPatch(claim, { set, remove: ['NodeResizeError'] })).toEqual({
    '$setElementOrder/conditions': [{ type: 'Foreign' }, { type: 'Resizing' }, { type: 'ModifyVolumeError' }],
    conditions: [
      {
        type: 'Resizing',
        status: 'True',
        message: null,
        reason: null,
        lastProbeTime: null,
        lastTransitionTime: before,
      },
      { ...error, status: 'True', lastTransitionTime: now },
      { type: 'NodeResizeError', $patch: 'delete' },
    ],
  });
});

const known = aCondition('ModifyVolumeError', { reason: 'Internal' });

it.each([
  { given: 'the condition', conditions: [aCondition('Resizing'), known], then: before },
  { given: 'none', conditions: undefined, then: now },
  { given: 'others only', conditions: [aCondition('Resizing', { reason: 'Internal' })], then: now },
  { given: 'another status', conditions: [{ ...known, status: 'False' }], then: now },
  { given: 'another reason', conditions: [{ ...known, reason: 'Aborted' }], then: now },
  { given: 'no reason', conditions: [aCondition('ModifyVolumeError')], then: now },
  { given: 'no time', conditions: [{ ...known, lastTransitionTime: undefined as never }], then: now },
])('given a claim that shows $given, then the transition time is $then', ({ conditions, then }) => {
  const claim = aClaim(conditions === undefined ? {} : { conditions });
  expect(transitionTime(claim, { type: 'ModifyVolumeError', reason: 'Internal' }, nowMs)).toBe(then);
});

it('given a condition without a reason that is shown without one, then its transition time stays', () => {
  const claim = aClaim({ conditions: [aCondition('Resizing')] });
  expect(transitionTime(claim, { type: 'Resizing' }, nowMs)).toBe(before);
});

it('given the conditions of both loops, then they have the names of Kubernetes', () => {
  expect([resizeConditions, modifyConditions]).toEqual([
    ['Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'],
    ['ModifyingVolume', 'ModifyVolumeError'],
  ]);
});
