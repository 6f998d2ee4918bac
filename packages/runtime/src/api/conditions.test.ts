// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { type Condition, conditionOf, withCondition } from './conditions.ts';
import { timestamp } from './timestamp.ts';

const since = '2020-01-01T00:00:00Z';
const synced: Condition = { type: 'Synced', status: 'True', reason: 'Applied', message: '', lastTransitionTime: since };
const ready: Condition = {
  type: 'Ready',
  status: 'False',
  reason: 'Starting',
  message: 'no pod is ready',
  observedGeneration: 1,
  lastTransitionTime: since,
};
const clock = new FakeClock();
const now = timestamp(clock.nowMs());
const { lastTransitionTime: _, ...said } = ready;

it.each([undefined, [], [synced]])(
  'given conditions %j, when one of another type is set, then it comes last',
  (given) => {
    expect(withCondition(given, said, clock)).toEqual([...(given ?? []), { ...ready, lastTransitionTime: now }]);
  },
);

it('given a condition, when the same is said again, then the list itself is returned', () => {
  const conditions = [ready, synced];
  expect(withCondition(conditions, said, clock)).toBe(conditions);
});

it.each([{ reason: 'Stopping' }, { message: 'one pod is ready' }, { observedGeneration: 2 }])(
  'given a condition, when only %j changes, then its transition time and the other conditions stay',
  (change) => {
    const changed = withCondition([ready, synced], { ...said, ...change }, clock);
    expect(changed).toEqual([{ ...ready, ...change }, synced]);
  },
);

it('given a condition, when its status changes, then its transition time is now', () => {
  const changed = withCondition([synced, ready], { ...said, status: 'True' }, clock);
  expect(changed).toEqual([synced, { ...ready, status: 'True', lastTransitionTime: now }]);
});

it('given conditions, then one is found by its type', () => {
  expect(conditionOf([synced, ready], 'Ready')).toBe(ready);
  expect(conditionOf([synced], 'Ready')).toBeUndefined();
  expect(conditionOf(undefined, 'Ready')).toBeUndefined();
});
