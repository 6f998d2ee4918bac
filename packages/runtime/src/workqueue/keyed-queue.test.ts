// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../testing/index.ts';
import { KeyedQueue } from './keyed-queue.ts';
import type { QueueInstruments } from './queue-metrics.ts';

const aQueue = (instruments?: QueueInstruments) => new KeyedQueue(new FakeClock(), { instruments });

/** The state of a promise, without waiting for it. */
async function stateOf<T>(promise: Promise<T>): Promise<{ readonly value: T } | 'pending'> {
  let state: { readonly value: T } | 'pending' = 'pending';
  void promise.then((value) => (state = { value }));
  await settle();
  return state;
}

describe('add, get, done', () => {
  it('[runtime#111] given three adds of a key before a get, then it is handed out once and counted once', async () => {
    let adds = 0;
    const queue = aQueue({
      attach: () => undefined,
      detach: () => undefined,
      added: () => (adds += 1),
      retried: () => undefined,
      waited: () => undefined,
      worked: () => undefined,
    });
    for (let i = 0; i < 3; i += 1) queue.add('a');
    expect([queue.length, queue.depth, adds]).toEqual([1, 1, 1]);
    expect(await queue.get()).toBe('a');
    expect(await stateOf(queue.get())).toBe('pending');
  });

  it('[runtime#112] given two adds while a key is processed, then it comes back once, and not before it is done', async () => {
    const queue = aQueue();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.add('a');
    expect([queue.length, queue.depth]).toEqual([0, 1]);
    const second = queue.get();
    expect(await stateOf(second)).toBe('pending');
    queue.done('a');
    expect(await stateOf(second)).toEqual({ value: 'a' });
    queue.done('a');
    expect(await stateOf(queue.get())).toBe('pending');
  });

  it('[runtime#227] given an add between the get and the beginning of the run, then only one that follows is one more run', async () => {
    const queue = aQueue();
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.begin('a');
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(await stateOf(queue.get())).toBe('pending');
    queue.add('a');
    queue.begin('a');
    queue.add('a');
    queue.done('a');
    expect(await stateOf(queue.get())).toEqual({ value: 'a' });
  });

  it('[runtime#122] given done for a key that was not handed out, then nothing happens', async () => {
    const queue = aQueue();
    queue.add('a');
    queue.done('a');
    queue.done('b');
    expect(queue.length).toBe(1);
    expect(await queue.get()).toBe('a');
  });

  it('[runtime#127] given a key that is added again all the time, then each time it goes behind the others', async () => {
    const queue = aQueue();
    for (const key of ['hot', 'a', 'b']) queue.add(key);
    const order: (string | undefined)[] = [];
    for (let i = 0; i < 4; i += 1) {
      const key = await queue.get();
      order.push(key);
      queue.add('hot');
      queue.done(key ?? '');
    }
    expect(order).toEqual(['hot', 'a', 'b', 'hot']);
  });

  it('given several waiting workers, then they are served in the order they came', async () => {
    const queue = aQueue();
    const [first, second] = [queue.get(), queue.get()];
    queue.add('a');
    queue.add('b');
    expect(await Promise.all([first, second])).toEqual(['a', 'b']);
  });

  it('given an abort while waiting, then the wait rejects, leaves no listener, and no key is lost on it', async () => {
    const queue = aQueue();
    const stop = new AbortController();
    const waiting = queue.get(stop.signal).catch((e: unknown) => e);
    stop.abort('stop');
    expect(await waiting).toBe('stop');
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    queue.add('a');
    expect(await queue.get()).toBe('a');
    await expect(queue.get(stop.signal)).rejects.toBe('stop');
  });

  it('given a wait that was served, then its signal is free', async () => {
    const queue = aQueue();
    const stop = new AbortController();
    const waiting = queue.get(stop.signal);
    queue.add('a');
    await waiting;
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });
});

describe('shutting down', () => {
  it('[runtime#113] given a key made dirty while processed, when drained, then it is handed out again and the drain ends after it', async () => {
    const queue = aQueue();
    queue.add('a');
    await queue.get();
    queue.add('a');
    const drained = queue.shutDownWithDrain();
    expect(await queue.get()).toBeUndefined();
    queue.done('a');
    expect(await stateOf(drained)).toBe('pending');
    expect(await queue.get()).toBe('a');
    expect(await stateOf(drained)).toBe('pending');
    queue.done('a');
    expect(await stateOf(drained)).toEqual({ value: undefined });
  });

  it('[runtime#114] given a drain that waits, when shut down, then the wait ends although keys are unfinished', async () => {
    const queue = aQueue();
    queue.add('a');
    await queue.get();
    const drained = queue.shutDownWithDrain();
    expect(await stateOf(drained)).toBe('pending');
    queue.shutDown();
    expect(await stateOf(drained)).toEqual({ value: undefined });
  });

  it('given nothing in processing, when drained, then the drain ends at once', async () => {
    const queue = aQueue();
    queue.add('a');
    expect(await stateOf(queue.shutDownWithDrain())).toEqual({ value: undefined });
  });

  it('given a shut-down ended a drain, when drained again, then that drain waits for the key in processing', async () => {
    const queue = aQueue();
    queue.add('a');
    await queue.get();
    void queue.shutDownWithDrain();
    queue.shutDown();
    const drained = queue.shutDownWithDrain();
    expect(await stateOf(drained)).toBe('pending');
    queue.done('a');
    expect(await stateOf(drained)).toEqual({ value: undefined });
  });

  it('[runtime#115] given adds after the shut-down, then they are ignored, and what was queued is handed out first', async () => {
    const queue = aQueue();
    queue.add('a');
    queue.shutDown();
    queue.add('b');
    expect(await queue.get()).toBe('a');
    expect(await queue.get()).toBeUndefined();
  });

  it('given a key that became dirty in its run, when shut down before the run ends, then the metrics of the queue end with the run', async () => {
    const attached = new Set<unknown>();
    const queue = aQueue({
      attach: (it) => attached.add(it),
      detach: (it) => attached.delete(it),
      added: () => undefined,
      retried: () => undefined,
      waited: () => undefined,
      worked: () => undefined,
    });
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.shutDown();
    expect(attached.size).toBe(1);
    queue.done('a');
    expect(attached.size).toBe(0);
  });

  it('given waiting workers, when shut down, then all of them end their wait', async () => {
    const queue = aQueue();
    const waiting = [queue.get(), queue.get()];
    queue.shutDown();
    expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  });
});

describe('for any order of operations', () => {
  it('given random adds, gets and dones, then no key is held twice, none waits twice, and none is lost', async () => {
    const step = fc.record({ kind: fc.constantFrom('add', 'get', 'done'), key: fc.constantFrom('a', 'b', 'c') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const queue = aQueue();
        const held = new Set<string>();
        const owed = new Set<string>();
        for (const { kind, key } of steps) {
          if (kind === 'add') {
            queue.add(key);
            owed.add(key);
          } else if (kind === 'get' && queue.length > 0) {
            const taken = (await queue.get()) ?? '';
            expect(held.has(taken)).toBe(false);
            expect(owed.delete(taken)).toBe(true);
            held.add(taken);
          } else if (kind === 'done') {
            queue.done(key);
            held.delete(key);
          }
          expect(queue.depth).toBe(owed.size);
          expect(queue.length).toBe([...owed].filter((k) => !held.has(k)).length);
        }
      }),
      { seed: 1 },
    );
  });
});
