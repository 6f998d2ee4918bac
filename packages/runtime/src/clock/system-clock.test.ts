// SPDX-License-Identifier: Apache-2.0
import crypto from 'node:crypto';
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from './system-clock.ts';
import { systemRandom } from './system-random.ts';

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });

  const longestMs = 2 ** 31 - 1;
  const days30 = 30 * 24 * 3600 * 1000;

  it('returns the time of day in milliseconds since the epoch, and how many milliseconds have passed', async () => {
    vi.setSystemTime(Date.UTC(2026, 0, 1));
    const clock = systemClock();
    const before = clock.monotonicMs();
    await vi.advanceTimersByTimeAsync(1500);
    expect([clock.nowMs(), clock.monotonicMs() - before]).toEqual([Date.UTC(2026, 0, 1) + 1500, 1500]);
  });

  it.each([10, longestMs, longestMs + 1, days30, 2 * longestMs, 60 * 24 * 3600 * 1000])(
    'given a timer and a sleep of %d ms, then they last exactly as long, whatever a timer of the platform can hold',
    async (ms) => {
      const ends: string[] = [];
      systemClock().timer(ms, () => ends.push('timer'));
      void systemClock()
        .sleep(ms)
        .then(() => ends.push('sleep'));
      await vi.advanceTimersByTimeAsync(5);
      await vi.advanceTimersByTimeAsync(ms - 6);
      expect(ends).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(ends).toEqual(['timer', 'sleep']);
    },
  );

  it.each([0, -1])('given a wait of %d ms, then it ends at once', async (ms) => {
    let fired = 0;
    systemClock().timer(ms, () => (fired += 1));
    await vi.advanceTimersByTimeAsync(0);
    expect(fired).toBe(1);
  });

  it.each([
    { ms: 10, wait: 'a timer', keepsAlive: false },
    { ms: days30, wait: 'a timer', keepsAlive: false },
    { ms: 10, wait: 'a sleep', keepsAlive: true },
    { ms: days30, wait: 'a sleep', keepsAlive: true },
  ])('given $wait of $ms ms, then it keeps the process alive: $keepsAlive', async ({ ms, wait, keepsAlive }) => {
    const set = vi.spyOn(globalThis, 'setTimeout');
    if (wait === 'a timer') systemClock().timer(ms, () => undefined);
    else void systemClock().sleep(ms);
    await vi.advanceTimersByTimeAsync(ms - 1);
    const current = set.mock.results.at(-1)?.value as NodeJS.Timeout;
    expect(current.hasRef()).toBe(keepsAlive);
  });

  it('given an abort during a sleep, then it rejects with the reason and leaves nothing behind', async () => {
    const stop = new AbortController();
    const outcome = systemClock()
      .sleep(1000, stop.signal)
      .catch((e: unknown) => e);
    stop.abort('stop');
    expect(await outcome).toBe('stop');
    expect([vi.getTimerCount(), getEventListeners(stop.signal, 'abort').length]).toEqual([0, 0]);
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
    let fired = 0;
    const timer = systemClock().timer(days30, () => (fired += 1));
    await vi.advanceTimersByTimeAsync(days30 - 1);
    timer.cancel();
    await vi.advanceTimersByTimeAsync(2);
    expect([fired, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it.each(['cancel', Symbol.dispose] as const)(
    'given a timer that was ended with %s, then it does not fire',
    async (end) => {
      let fired = 0;
      const timer = systemClock().timer(10, () => (fired += 1));
      timer[end]();
      await vi.advanceTimersByTimeAsync(20);
      expect(fired).toBe(0);
    },
  );
});

describe('systemRandom', () => {
  it('yields numbers of [0, 1) and version 4 identifiers', () => {
    const random = systemRandom();
    const numbers = Array.from({ length: 200 }, () => random.next());
    expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true);
    expect(new Set(numbers).size).toBeGreaterThan(190);
    expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('makes 64 numbers of each call for random bytes', () => {
    const fill = vi.spyOn(crypto, 'randomFillSync').mockImplementation((bytes) => (bytes as Uint32Array).fill(2 ** 31));
    const random = systemRandom();
    const numbers = Array.from({ length: 129 }, () => random.next());
    expect([new Set(numbers), fill.mock.calls.length]).toEqual([new Set([0.5]), 3]);
    fill.mockRestore();
  });
});
