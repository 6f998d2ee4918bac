// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import type { Event } from '../api/objects.ts';
import { createCorrelator } from './correlator.ts';

const eventOn = (name: string): Event => ({
  metadata: { name: `${name}.1`, namespace: 'default' },
  involvedObject: { kind: 'Pod', namespace: 'default', name },
  type: 'Normal',
  reason: 'Seen',
  message: 'seen',
});

it('given events on more objects than the memory holds, then the object whose event is longest ago is forgotten, and no other', () => {
  const correlator = createCorrelator({ clock: new FakeClock(), nameFor: (name) => `${name}.2` });
  const how = (name: string): string => {
    const correlated = correlator.correlate(eventOn(name));
    return correlated.kind === 'write' ? correlated.how : correlated.kind;
  };
  for (let n = 0; n < 4096; n += 1) how(`pod-${n}`);
  expect(how('pod-0')).toBe('update');
  expect(how('pod-4096')).toBe('create');
  expect([how('pod-0'), how('pod-2'), how('pod-1')]).toEqual(['update', 'update', 'create']);
});
