// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import type { Event } from '../api/objects.ts';
import { type Correlated, createCorrelator } from './correlator.ts';

const eventOn = (name: string): Event => ({
  metadata: { name: `${name}.1`, namespace: 'default' },
  involvedObject: { kind: 'Pod', namespace: 'default', name },
  type: 'Normal',
  reason: 'Seen',
  message: 'seen',
});

const aCorrelator = (clock = new FakeClock()) => createCorrelator({ clock, nameFor: (name) => `${name}.2` });

function writeOf(correlated: Correlated): Extract<Correlated, { kind: 'write' }> {
  if (correlated.kind !== 'write') throw new Error('dropped');
  return correlated;
}

it('given events on more objects than the memory holds, then the object whose event is longest ago is forgotten, and no other', () => {
  const correlator = aCorrelator();
  const how = (name: string): string => {
    const correlated = correlator.correlate(eventOn(name));
    return correlated.kind === 'write' ? correlated.how : correlated.kind;
  };
  for (let n = 0; n < 4096; n += 1) how(`pod-${n}`);
  expect(how('pod-0')).toBe('update');
  expect(how('pod-4096')).toBe('create');
  expect([how('pod-0'), how('pod-2'), how('pod-1')]).toEqual(['update', 'update', 'create']);
});

const object = { kind: 'Pod', namespace: 'default', name: 'pod' };
const full: Event = {
  ...eventOn('pod'),
  source: { component: 'c', host: 'h' },
  reportingComponent: 'c',
  reportingInstance: 'h',
  firstTimestamp: 'then',
};
const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `m${index + 1}`);

it.each<[string, Partial<Event>, 'create' | 'update']>([
  ['another component', { source: { component: 'd', host: 'h' } }, 'create'],
  ['another host', { source: { component: 'c', host: 'i' } }, 'create'],
  ['an object of another kind', { involvedObject: { ...object, kind: 'Node' } }, 'create'],
  ['an object in another namespace', { involvedObject: { ...object, namespace: 'other' } }, 'create'],
  ['an object of another name', { involvedObject: { ...object, name: 'other' } }, 'create'],
  ['an object with a UID', { involvedObject: { ...object, uid: 'u' } }, 'create'],
  ['an object of another version', { involvedObject: { ...object, apiVersion: 'v2' } }, 'create'],
  ['an object of the same letters', { involvedObject: { ...object, kind: 'Podd', namespace: 'efault' } }, 'create'],
  ['another type', { type: 'Warning' }, 'create'],
  ['another reason', { reason: 'Lost' }, 'create'],
  ['another reporting component', { reportingComponent: 'd' }, 'update'],
  ['another reporting instance', { reportingInstance: 'i' }, 'update'],
])(
  'given nine messages, when a tenth comes with %s, then it is not combined with them, and one of the nine messages means: %s',
  (_, change, how) => {
    const correlator = aCorrelator();
    for (const message of numbered(9)) correlator.correlate({ ...full, message });
    expect(correlator.correlate({ ...full, ...change, message: 'm1' })).toMatchObject({ how });
    const tenth = { ...full, ...change, message: 'm10' };
    expect(correlator.correlate(tenth)).toMatchObject({ how: 'create', event: tenth });
  },
);

it('given messages exactly 10 min apart, then the tenth is combined with those before it, for each object alone', async () => {
  const clock = new FakeClock();
  const correlator = aCorrelator(clock);
  let latest: readonly Correlated[] = [];
  for (const message of numbered(10)) {
    await clock.advance(600_000);
    latest = ['a', 'b'].map((name) => correlator.correlate({ ...eventOn(name), message }));
  }
  const message = '(combined from similar events): m10';
  expect(latest).toMatchObject([
    { how: 'create', event: { message, metadata: { namespace: 'default', name: 'a.2' } } },
    { how: 'create', event: { message, metadata: { namespace: 'default', name: 'b.2' } } },
  ]);
});

it('given a tenth event that lacks namespace, name and message, then the combined one has empty ones', () => {
  const correlator = aCorrelator();
  const bare = { metadata: {}, involvedObject: { kind: 'Node' } };
  for (const message of numbered(9)) correlator.correlate({ ...bare, message });
  expect(writeOf(correlator.correlate(bare)).event).toStrictEqual({
    metadata: { namespace: '', name: '.2' },
    involvedObject: { kind: 'Node' },
    message: '(combined from similar events): ',
  });
});

it.each<[string, Partial<Event>, Partial<Event>]>([
  [
    'another name, count and time',
    { metadata: { name: 'given' }, count: 4, firstTimestamp: 'before' },
    { metadata: { namespace: 'default', name: 'given' }, count: 5, firstTimestamp: 'before' },
  ],
  [
    'no name, count and time',
    { metadata: {} },
    { metadata: { namespace: 'default', name: '' }, count: 2, firstTimestamp: 'then' },
  ],
])(
  'given a server that answers with %s, then the next event of the same message counts on from that',
  async (_, answer, expected) => {
    const clock = new FakeClock();
    const correlator = aCorrelator(clock);
    const { key } = writeOf(correlator.correlate(full));
    correlator.remember(key, { metadata: {}, involvedObject: {}, ...answer });
    await clock.advance(1000);
    expect(correlator.correlate(full)).toStrictEqual({
      kind: 'write',
      how: 'update',
      key,
      event: { ...full, lastTimestamp: '2026-01-01T00:00:01Z', ...expected },
    });
  },
);

it('given 26 events of a type on an object at once, then the last one is dropped', () => {
  const correlator = aCorrelator();
  const all = Array.from({ length: 26 }, () => correlator.correlate(full));
  expect(all.slice(-2)).toEqual([expect.objectContaining({ kind: 'write' }), { kind: 'dropped' }]);
});
