// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../testing/index.ts';
import { unlessAborted } from '../api/transport.ts';
import { DeadlineError, deadlineOf, linkSignals, whenAborted, withDeadline } from './deadline.ts';

describe('withDeadline', () => {
  it('given work that outlasts its deadline, then its signal aborts with a DeadlineError', async () => {
    const clock = new FakeClock();
    const outcome = withDeadline(clock, { ms: 1000 }, (signal) => clock.sleep(5000, signal)).catch((e: unknown) => e);
    await clock.advance(1000);
    expect(await outcome).toBeInstanceOf(DeadlineError);
    expect(await outcome).toMatchObject({
      name: 'DeadlineError',
      message: 'deadline of 1000 ms exceeded',
      afterMs: 1000,
    });
    expect(clock.pending).toBe(0);
  });

  it('given a call that ignores its signal, then unlessAborted ends the wait at the deadline, and a later failure of the call is ignored', async () => {
    const clock = new FakeClock();
    const call = Promise.withResolvers<void>();
    const outcome = withDeadline(clock, { ms: 1000 }, (signal) => unlessAborted(call.promise, signal));
    const ended = expect(outcome).rejects.toMatchObject({
      failure: 'timeout',
      message: 'deadline of 1000 ms exceeded',
    });
    await clock.advance(1000);
    await ended;
    call.reject(new Error('late'));
    await settle();
    expect(clock.pending).toBe(0);
  });

  it('given a parent that aborts, then the work sees the reason of the parent', async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const outcome = withDeadline(clock, { parent: parent.signal, ms: 1000 }, (signal) =>
      clock.sleep(5000, signal),
    ).catch((e: unknown) => e);
    parent.abort('stop');
    expect(await outcome).toBe('stop');
    expect(clock.pending).toBe(0);
  });

  it('given work that has ended, then nothing is left on the parent and the signal is aborted', async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const signals: AbortSignal[] = [];
    for (let call = 0; call < 3; call += 1) {
      await withDeadline(clock, { parent: parent.signal, ms: 1000 }, async (signal) => {
        signals.push(signal);
      });
    }
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true, true]);
    expect(clock.pending).toBe(0);
  });

  it('given nested deadlines, then the signal carries the earlier one', async () => {
    const clock = new FakeClock();
    await clock.advance(500);
    const seen = await withDeadline(clock, { ms: 1000 }, (outer) =>
      withDeadline(clock, { parent: outer, ms: 9000 }, async (inner) => deadlineOf(inner)),
    );
    expect(seen).toBe(1500);
  });

  it('given a signal that is linked to one with a deadline, then it carries the deadline; given none, then none is known', async () => {
    const plain = new AbortController().signal;
    const seen = await withDeadline(new FakeClock(), { ms: 1000 }, async (timed) =>
      [[plain, timed], [plain], [undefined]].map((parents) => deadlineOf(linkSignals(parents).signal)),
    );
    expect(seen).toEqual([1000, undefined, undefined]);
  });
});

describe('linkSignals', () => {
  it('given several parents, when one aborts, then the others lose their listener', () => {
    const [a, b] = [new AbortController(), new AbortController()];
    const linked = linkSignals([a.signal, undefined, b.signal]);
    const listeners: number[] = [];
    linked.signal.addEventListener('abort', () => {
      listeners.push(...[a, b].map(({ signal }) => getEventListeners(signal, 'abort').length));
    });
    b.abort('b');
    expect(linked.signal.reason).toBe('b');
    expect(listeners).toEqual([0, 0]);
  });

  it('given a parent that is already aborted, then so is the child, and it follows no other parent', () => {
    const parent = new AbortController();
    expect(linkSignals([AbortSignal.abort('gone'), parent.signal]).signal.reason).toBe('gone');
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
  });

  it('given a disposed link, then the child is aborted and the parents are free', () => {
    const parent = new AbortController();
    const linked = linkSignals([parent.signal]);
    linked[Symbol.dispose]();
    expect(linked.signal.reason).toMatchObject({ name: 'AbortError', message: 'the call has ended' });
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
  });

  it('given a released link, then the parents have no listeners and the child does not abort', () => {
    const parent = new AbortController();
    const linked = linkSignals([parent.signal]);
    linked.release();
    parent.abort();
    expect(linked.signal.aborted).toBe(false);
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(0);
  });
});

it('given a signal, then waiting for it ends when it aborts, and at once if it has', async () => {
  const controller = new AbortController();
  let isOver = false;
  const waiting = whenAborted(controller.signal).then(() => (isOver = true));
  await Promise.resolve();
  expect(isOver).toBe(false);
  controller.abort();
  await waiting;
  await whenAborted(controller.signal);
});
