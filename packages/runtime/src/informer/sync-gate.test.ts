// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import { usedHeap } from '../../testing/used-heap.ts';
import { createSyncGate } from './sync-gate.ts';

function setUp() {
  const facts = { open: false };
  const stop = new AbortController();
  const gate = createSyncGate(() => facts.open);
  const answers: boolean[] = [];
  const wait = () => void gate.whenOpen(stop.signal).then((open) => answers.push(open));
  return { facts, stop, gate, answers, wait };
}

it('given two who wait, when the condition holds and is checked again, then both go on, and nothing listens to the signal', async () => {
  const { facts, stop, gate, answers, wait } = setUp();
  wait();
  wait();
  gate.recheck();
  await settle();
  expect(answers).toEqual([]);
  facts.open = true;
  gate.recheck();
  await settle();
  expect([answers, getEventListeners(stop.signal, 'abort')]).toEqual([[true, true], []]);
});

it('given a condition that holds, then no caller waits, also when the gate is closed or the signal has aborted', async () => {
  const { facts, stop, gate, answers, wait } = setUp();
  facts.open = true;
  wait();
  gate.close();
  stop.abort();
  wait();
  await settle();
  expect(answers).toEqual([true, true]);
});

it.each(['closed', 'aborted'] as const)(
  'given a wait that is %s, then its answer and those of later ones are no',
  async (how) => {
    const { stop, gate, answers, wait } = setUp();
    wait();
    if (how === 'closed') gate.close();
    else stop.abort();
    wait();
    await settle();
    expect(answers).toEqual([false, false]);
  },
);

it('given 10,000 waits that were aborted, then nothing of them is kept', async () => {
  const { gate } = setUp();
  const before = usedHeap();
  for (let n = 0; n < 10_000; n += 1) {
    const stop = new AbortController();
    const waiting = gate.whenOpen(stop.signal);
    stop.abort();
    await waiting;
  }
  expect(usedHeap() - before).toBeLessThan(1_500_000);
  gate.close();
});
