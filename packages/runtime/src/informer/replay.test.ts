// SPDX-License-Identifier: Apache-2.0
/** Who is called for which objects is in handlers.test.ts and resync.test.ts. Here: when the event loop turns, and what ends a replay. */
import { expect, it } from 'vitest';
import { FakeClock, settle } from '../../testing/index.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Subscriber } from './distributor.ts';
import { createObjectsByKey } from './objects-by-key.ts';
import { createReplay } from './replay.ts';
import { createKeyedLock } from '../workqueue/keyed-lock.ts';

/** `onTurn` is called with each turn of the event loop, and `calledAtTurns` says how many calls came before each of them. */
function setUp(count: number, onTurn: () => void = () => undefined) {
  const clock = new FakeClock();
  const facts = { calls: 0, stopped: false };
  const calledAtTurns: number[] = [];
  clock.yieldToLoop = async () => {
    if (calledAtTurns.push(facts.calls) > 10) throw new Error('the replay does not end');
    onTurn();
  };
  const objects = createObjectsByKey<KubeObject>();
  for (let n = 0; n < count; n += 1) objects.set({ metadata: { name: `x-${n}` } });
  const replay = createReplay<KubeObject>({
    clock,
    lock: createKeyedLock(),
    distributor: { deliverTo: () => void (facts.calls += 1) },
    objects: () => objects,
    stopped: () => facts.stopped,
  });
  const subscriber: Subscriber<KubeObject> = { handler: {}, phase: 'catchingUp' };
  const round = new AbortController();
  const resync = () => replay.resync({ due: new Set([subscriber]), spreadMs: 1_500, signal: round.signal });
  return { clock, facts, calledAtTurns, replay, subscriber, round, resync };
}

it('given 1200 objects, when a handler catches up, then the event loop turns after every 500, and the handler is live at the end', async () => {
  const { replay, subscriber, calledAtTurns, facts } = setUp(1_200);
  await replay.catchUp(subscriber);
  expect([calledAtTurns, facts.calls, subscriber.phase]).toEqual([[500, 1_000], 1_200, 'live']);
});

it('given a stop, or the removal of the handler, while it catches up, then it gets no further object and does not go live', async () => {
  const stopped = setUp(1_200, () => (stopped.facts.stopped = true));
  await stopped.replay.catchUp(stopped.subscriber);
  expect([stopped.facts.calls, stopped.subscriber.phase]).toEqual([500, 'catchingUp']);
  const removed = setUp(1_200, () => (removed.subscriber.phase = 'removed'));
  await removed.replay.catchUp(removed.subscriber);
  expect([removed.facts.calls, removed.subscriber.phase]).toEqual([500, 'removed']);
});

it('given 1000 objects, when they are resynced, then the event loop turns after 500 and no time passes', async () => {
  const { clock, resync, calledAtTurns, facts } = setUp(1_000);
  const resyncing = Promise.allSettled([resync()]);
  await settle();
  expect([calledAtTurns, facts.calls, clock.pending]).toEqual([[500, 1_000], 1_000, 0]);
  expect(await resyncing).toEqual([{ status: 'fulfilled', value: undefined }]);
});

it('given 1001 objects, when they are resynced, then their slices are spread over the time', async () => {
  const { clock, resync, calledAtTurns, facts } = setUp(1_001);
  void resync();
  await clock.advance(499);
  expect(facts.calls).toBe(500);
  await clock.advance(1);
  expect(facts.calls).toBe(1_000);
  await clock.advance(500);
  expect([facts.calls, calledAtTurns, clock.pending]).toEqual([1_001, [], 0]);
});

it('given a stop, or the end of the round, during a resync, then no further object is resynced', async () => {
  const stopped = setUp(1_000, () => (stopped.facts.stopped = true));
  await stopped.resync();
  expect(stopped.facts.calls).toBe(500);
  const ended = setUp(1_000, () => ended.round.abort());
  await ended.resync();
  expect(ended.facts.calls).toBe(500);
});
