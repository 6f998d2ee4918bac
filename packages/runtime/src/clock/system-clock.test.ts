// SPDX-License-Identifier: Apache-2.0
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from './system-clock.ts';
import { systemRandom } from './system-random.ts';

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('given a wait longer than a timer can hold, then it lasts as long as asked for', async () => {
    const days30 = 30 * 24 * 3600 * 1000;
    let fired = 0;
    systemClock().timer(days30, () => (fired += 1));
    await vi.advanceTimersByTimeAsync(days30 - 1);
    expect(fired).toBe(0);
    await vi.advanceTimersByTimeAsync(2);
    expect(fired).toBe(1);
  });

  it('given an abort during a sleep, then it rejects with the reason and leaves nothing behind', async () => {
    const stop = new AbortController();
    const outcome = systemClock()
      .sleep(1000, stop.signal)
      .catch((e: unknown) => e);
    stop.abort('stop');
    expect(await outcome).toBe('stop');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('given a sleep that ends, then its listener is off the signal', async () => {
    const stop = new AbortController();
    const sleep = systemClock().sleep(10, stop.signal);
    await vi.advanceTimersByTimeAsync(10);
    await sleep;
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
  });

  it('given a signal that is already aborted, then no timer is set', async () => {
    await expect(systemClock().sleep(10, AbortSignal.abort('gone'))).rejects.toBe('gone');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('given a long wait that is cancelled after it was re-armed, then it does not fire', async () => {
    const days30 = 30 * 24 * 3600 * 1000;
    let fired = 0;
    const timer = systemClock().timer(days30, () => (fired += 1));
    await vi.advanceTimersByTimeAsync(days30 - 1);
    timer.cancel();
    await vi.advanceTimersByTimeAsync(2);
    expect([fired, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('given a cancelled timer, then it does not fire', async () => {
    let fired = 0;
    systemClock()
      .timer(10, () => (fired += 1))
      .cancel();
    await vi.advanceTimersByTimeAsync(20);
    expect(fired).toBe(0);
  });
});

describe('systemRandom', () => {
  it('yields numbers of [0, 1) and version 4 identifiers', () => {
    const random = systemRandom();
    const numbers = Array.from({ length: 200 }, () => random.next());
    expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true);
    expect(new Set(numbers).size).toBeGreaterThan(190);
    expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
