// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { FakeClock, settle } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { createBarrier } from './barrier.ts';

function started() {
  const clock = new FakeClock();
  const barrier = createBarrier(clock, ['attacher', 'resizer'], 5_000);
  const stopping = new AbortController();
  const events: unknown[] = [];
  const pass = (): void => {
    const passed = barrier.pass(stopping.signal);
    void passed.then(() => events.push('passed'));
  };
  return { clock, barrier, stopping, events, pass };
}

it('given two controllers, then both pass when the second one has arrived, and nothing is left behind', async () => {
  const { clock, barrier, stopping, events, pass } = started();
  pass();
  barrier.arrive('attacher');
  barrier.arrive('attacher');
  await settle();
  expect(events).toEqual([]);
  barrier.arrive('resizer');
  pass();
  await settle();
  expect(events).toEqual(['passed', 'passed']);
  expect([clock.pending, getEventListeners(stopping.signal, 'abort')]).toEqual([0, []]);
});

it('given a controller that does not arrive, then the other one waits for the limit, from when it began to wait', async () => {
  const { clock, barrier, events, pass } = started();
  barrier.arrive('attacher');
  await clock.advance(3_000);
  pass();
  await clock.advance(4_999);
  expect(events).toEqual([]);
  await clock.advance(1);
  expect(events).toEqual(['passed']);
  pass();
  await settle();
  expect([events, clock.pending]).toEqual([['passed', 'passed'], 0]);
});

it('given all have arrived before the first one waits, then no timer is started', async () => {
  const { clock, barrier, events, pass } = started();
  barrier.arrive('attacher');
  barrier.arrive('resizer');
  pass();
  await settle();
  expect([events, clock.pending]).toEqual([['passed'], 0]);
});

it.each([['before'], ['after']])('given a stop %s the controller waits, then it waits no longer', async (when) => {
  const { stopping, events, pass } = started();
  if (when === 'before') stopping.abort();
  pass();
  stopping.abort();
  await settle();
  expect(events).toEqual(['passed']);
});
