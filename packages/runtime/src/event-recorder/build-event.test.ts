// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import type { KubeObject } from '../api/objects.ts';
import { createEventBuilder, type EventBuilder } from './build-event.ts';

const builder = (host: string, next = 0.25): EventBuilder =>
  createEventBuilder(
    { clock: new FakeClock({ nowMs: 1000 }), random: { next: () => next, uuid: () => 'a-uuid' } },
    { component: 'c', host },
  );
const object = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ns', name: 'p', uid: 'u' } };
const recorded = { type: 'Normal', reason: 'Seen', message: 'seen' } as const;

it.each([
  ['', { component: 'c' }],
  ['h', { component: 'c', host: 'h' }],
])(
  'given the host "%s", then the event has every field, and its source names the host if there is one',
  (host, source) => {
    expect(builder(host).build(object, { ...recorded, fieldPath: 'spec', name: 'shared' })).toEqual({
      kind: 'event',
      event: {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'shared', namespace: 'ns' },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u', fieldPath: 'spec' },
        type: 'Normal',
        reason: 'Seen',
        message: 'seen',
        source,
        reportingComponent: 'c',
        reportingInstance: host,
        firstTimestamp: '1970-01-01T00:00:01Z',
        lastTimestamp: '1970-01-01T00:00:01Z',
        count: 1,
      },
    });
  },
);

it.each<[string, KubeObject]>([
  ['an API version', { kind: 'Pod', metadata: object.metadata }],
  ['a kind', { apiVersion: 'v1', metadata: object.metadata }],
  ['metadata', { apiVersion: 'v1', kind: 'Pod' }],
  ['a name', { ...object, metadata: { namespace: 'ns' } }],
])('given an object without %s, then there is no event', (_, regarding) => {
  const because = 'Could not construct reference, will not report event';
  expect(builder('').build(regarding, recorded)).toEqual({ kind: 'refused', because });
});

it.each([
  ['the smallest', 0, 1_000_000_000],
  ['the largest', 0.9999999, 1_000_999_999],
])(
  'given %s random number, then names count on from the nanosecond that it says within the millisecond',
  (_, next, first) => {
    const { nameFor } = builder('', next);
    expect([nameFor('p'), nameFor('p')]).toEqual([`p.${first.toString(16)}`, `p.${(first + 1).toString(16)}`]);
  },
);

it('given a name of 253 characters, then it is used; given a longer one, then a UUID takes its place', () => {
  const { nameFor } = builder('');
  expect(nameFor('x'.repeat(244))).toHaveLength(253);
  expect(nameFor('x'.repeat(245))).toBe('a-uuid');
});
