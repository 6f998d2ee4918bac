// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { leaseOf } from './election.ts';

it.each([
  ['onExit', { a: 'b' }, { labels: { a: 'b' }, releaseOnExit: true }],
  ['never', undefined, { labels: {}, releaseOnExit: false }],
] as const)(
  'given the flags of the election, when the lease is released %s, then it has their durations and the names that upstream gives it',
  (release, labels, expected) => {
    const values = {
      'leader-election': true,
      'leader-election-namespace': 'ns',
      'leader-election-lease-duration': 20_000,
      'leader-election-renew-deadline': 12_000,
      'leader-election-retry-period': 4_000,
      ...(labels && { 'leader-election-labels': labels }),
    };
    expect(leaseOf({ hostName: 'pod.1' }, { values, lockName: 'leader-a.example.com', release })).toEqual({
      namespace: 'ns',
      name: 'leader-a-example-com',
      identity: 'pod-1',
      component: 'leader-a.example.com/pod.1',
      leaseDurationMs: 20_000,
      renewDeadlineMs: 12_000,
      retryPeriodMs: 4_000,
      ...expected,
    });
  },
);
