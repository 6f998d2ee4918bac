// SPDX-License-Identifier: Apache-2.0
import { toObjectKey } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { degraded, storedDegraded } from '../../testing/builders.ts';
import { createListCycle, type Listed } from './cycle.ts';
import { decide } from './loop.ts';

interface Line {
  readonly row: string;
  readonly given: string;
  readonly listed: Listed;
  readonly isWhole: boolean;
  readonly isUnhealthy: boolean;
  readonly kind: string;
}

it.each<Line>([
  {
    given: '[health-monitor#L1] given a volume that is listed with entries',
    row: 'L1',
    listed: 'unhealthy',
    isWhole: false,
    isUnhealthy: false,
    kind: 'report',
  },
  {
    given: '[health-monitor#L2] given a volume that is listed with entries and without',
    row: 'L2',
    listed: 'doubtful',
    isWhole: true,
    isUnhealthy: false,
    kind: 'ask',
  },
  {
    given: '[health-monitor#L3] given a volume that is listed as healthy, and was not',
    row: 'L3',
    listed: 'healthy',
    isWhole: false,
    isUnhealthy: true,
    kind: 'report',
  },
  {
    given: '[health-monitor#L4] given a volume that is absent, and is believed unhealthy',
    row: 'L4',
    listed: 'absent',
    isWhole: true,
    isUnhealthy: true,
    kind: 'ask',
  },
  {
    given: '[health-monitor#L5] given a volume that is absent, and is believed healthy',
    row: 'L5',
    listed: 'absent',
    isWhole: true,
    isUnhealthy: false,
    kind: 'leave',
  },
  {
    given: '[health-monitor#L5] given a volume that is absent from a part of a list',
    row: 'L5',
    listed: 'absent',
    isWhole: false,
    isUnhealthy: true,
    kind: 'leave',
  },
  {
    given: '[health-monitor#L5] given a volume that is listed as healthy, and was healthy',
    row: 'L5',
    listed: 'healthy',
    isWhole: true,
    isUnhealthy: false,
    kind: 'leave',
  },
])('$given, then: $kind', ({ row, kind, isUnhealthy, ...shown }) => {
  expect(decide({ ...shown, isUnhealthy: () => isUnhealthy })).toEqual({ row, kind });
});

it('given cycles, then what earlier ones have shown does not count, and volumes that are gone are forgotten', () => {
  const cycle = createListCycle();
  const [one, two] = [toObjectKey(undefined, 'pv1'), toObjectKey(undefined, 'pv2')];
  cycle.begin();
  cycle.take(one, degraded as never);
  cycle.take(two, []);
  expect([cycle.of(one), cycle.of(two), cycle.reportOf(one).conditions]).toEqual([
    'unhealthy',
    'healthy',
    storedDegraded,
  ]);
  cycle.take(one, []);
  expect([cycle.of(one), cycle.reportOf(one).conditions]).toEqual(['doubtful', []]);
  cycle.take(one, []);
  expect(cycle.of(one)).toBe('doubtful');
  cycle.end(new Set([one]));
  cycle.begin();
  expect([cycle.of(one), cycle.of(two), cycle.reportOf(one).conditions]).toEqual(['absent', 'absent', []]);
});
