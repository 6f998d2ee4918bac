// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import { createInbox } from './inbox.ts';
import { createRenewalGate } from './renewal-gate.ts';

describe('the gate', () => {
  it('given an open gate, then a wait ends at once and leaves no listener', async () => {
    const stop = new AbortController();
    const gate = createRenewalGate(
      () => true,
      () => true,
    );
    await gate.whenOpen(stop.signal);
    expect([gate.open, getEventListeners(stop.signal, 'abort').length]).toEqual([true, 0]);
  });

  it('given a closed gate, when it is refreshed, then waits end only after it has opened, and leave no listener', async () => {
    const stop = new AbortController();
    let isOpen = false;
    let entered = 0;
    const gate = createRenewalGate(
      () => isOpen,
      () => true,
    );
    const waits = [1, 2].map(() => gate.whenOpen(stop.signal).then(() => (entered += 1)));
    gate.refresh();
    await settle();
    expect([gate.open, entered]).toEqual([false, 0]);
    isOpen = true;
    gate.refresh();
    await Promise.all(waits);
    expect([gate.open, entered, getEventListeners(stop.signal, 'abort').length]).toEqual([true, 2, 0]);
  });

  it('given a closed gate, when the signal aborts during or before a wait, then the wait rejects with its reason', async () => {
    const stop = new AbortController();
    const gate = createRenewalGate(
      () => false,
      () => true,
    );
    const wait = gate.whenOpen(stop.signal);
    stop.abort(new Error('over'));
    await expect(wait).rejects.toThrow('over');
    await expect(
      createRenewalGate(
        () => true,
        () => true,
      ).whenOpen(stop.signal),
    ).rejects.toThrow('over');
  });
});

it('given waits that have ended, when the gate is refreshed again and again, then they are forgotten', async () => {
  let isOpen = false;
  const gate = createRenewalGate(
    () => isOpen,
    () => true,
  );
  const [entering, leaving] = [new AbortController(), new AbortController()];
  const waits = [gate.whenOpen(entering.signal), gate.whenOpen(leaving.signal).catch(() => undefined)];
  let touched = 0;
  const countTouches = ({ signal }: AbortController): void => {
    signal.removeEventListener = () => (touched += 1);
  };
  leaving.abort();
  countTouches(leaving);
  isOpen = true;
  gate.refresh();
  await Promise.all(waits);
  countTouches(entering);
  gate.refresh();
  expect(touched).toBe(0);
});

describe('the inbox', () => {
  it('given items before and after a reader asks, then each is taken once, in order', async () => {
    const inbox = createInbox<number>();
    inbox.put(1);
    inbox.put(2);
    expect([await inbox.take(), await inbox.take()]).toEqual([1, 2]);
    const waiting = inbox.take();
    inbox.put(3);
    inbox.put(4);
    expect([await waiting, await inbox.take()]).toEqual([3, 4]);
  });
});
