// SPDX-License-Identifier: Apache-2.0
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { DelayedAdds } from './delayed-adds.ts';

function aFixture() {
  const clock = new FakeClock();
  const fired: string[] = [];
  const delayed = new DelayedAdds<string>(clock, (key) => fired.push(`${key}@${clock.monotonicMs()}`));
  return { clock, fired, delayed };
}

describe('DelayedAdds', () => {
  it('[runtime#116] given a key that waits already, then it becomes ready once, at the earlier of both times', async () => {
    const { clock, fired, delayed } = aFixture();
    delayed.add('a', 50);
    delayed.add('a', 70);
    delayed.add('b', 50);
    delayed.add('b', 30);
    await clock.advance(1000);
    expect(fired).toEqual(['b@30', 'a@50']);
    expect(clock.pending).toBe(0);
  });

  it('[runtime#117] given delays of 1 s, 50 ms and 2 s, then keys become ready by time, not in the order they came', async () => {
    const { clock, fired, delayed } = aFixture();
    delayed.add('first', 1000);
    delayed.add('second', 50);
    delayed.add('third', 2000);
    expect(clock.pending).toBe(1);
    await clock.advance(2000);
    expect(fired).toEqual(['second@50', 'first@1000', 'third@2000']);
  });

  it('[runtime#118] given a process that was suspended past all delays, then keys still become ready by time', async () => {
    const { clock, fired, delayed } = aFixture();
    delayed.add('1000', 1000);
    delayed.add('500', 500);
    delayed.add('250', 250);
    clock.suspend(2000);
    await clock.advance(0);
    expect(fired).toEqual(['250@2000', '500@2000', '1000@2000']);
  });

  it('[runtime#120] given 30 days, then no timer is set for longer than the safety tick, and the key waits 30 days', async () => {
    const delays: number[] = [];
    const fake = new FakeClock();
    const days30 = 30 * 24 * 3600 * 1000;
    const fired: string[] = [];
    const delayed = new DelayedAdds<string>(
      {
        nowMs: () => fake.nowMs(),
        monotonicMs: () => fake.monotonicMs(),
        sleep: (ms, signal) => fake.sleep(ms, signal),
        yieldToLoop: () => fake.yieldToLoop(),
        timer: (ms, fire) => {
          delays.push(ms);
          return fake.timer(ms, fire);
        },
      },
      (key) => fired.push(key),
    );
    delayed.add('a', days30);
    await fake.advance(60_000);
    expect(fired).toEqual([]);
    expect(Math.max(...delays)).toBe(10_000);
    fake.suspend(days30 - 60_001);
    await fake.advance(0);
    expect(fired).toEqual([]);
    await fake.advance(1);
    expect(fired).toEqual(['a']);
  });

  it('given a clear, then nothing becomes ready and no timer is left', async () => {
    const { clock, fired, delayed } = aFixture();
    delayed.add('a', 10);
    delayed.clear();
    expect(clock.pending).toBe(0);
    delayed.add('b', 20);
    await clock.advance(100);
    expect(fired).toEqual(['b@20']);
  });

  it('given a clear, then a key that waited before may be added with a later time', async () => {
    const { clock, fired, delayed } = aFixture();
    delayed.add('a', 10);
    delayed.clear();
    delayed.add('a', 20);
    await clock.advance(100);
    expect(fired).toEqual(['a@20']);
  });

  it('given keys of one ready time, then they become ready in the order they came', async () => {
    const { clock, fired, delayed } = aFixture();
    const keys = ['h', 'a', 'g', 'b', 'f', 'c', 'e', 'd'];
    for (const key of keys) delayed.add(key, 10);
    await clock.advance(10);
    expect(fired).toEqual(keys.map((key) => `${key}@10`));
  });

  it('given keys that become ready later than the first one, or with it, then no timer is set before the first one fires', async () => {
    const { clock, delayed } = aFixture();
    const timers: number[] = [];
    const timer = clock.timer.bind(clock);
    clock.timer = (ms, fire) => {
      timers.push(ms);
      return timer(ms, fire);
    };
    for (const [key, ms] of Object.entries({ a: 100, b: 200, c: 100, d: 300 })) delayed.add(key, ms);
    expect(timers).toEqual([100]);
    delayed.add('e', 50);
    expect([timers, clock.pending]).toEqual([[100, 50], 1]);
    await clock.advance(300);
    expect(timers).toEqual([100, 50, 50, 100, 100]);
  });

  it('given a key that is delayed again as it becomes ready, then it waits again', async () => {
    const clock = new FakeClock();
    const fired: number[] = [];
    const delayed: DelayedAdds<string> = new DelayedAdds<string>(clock, (key) => {
      if (fired.push(clock.monotonicMs()) < 3) delayed.add(key, 10);
    });
    delayed.add('a', 10);
    await clock.advance(1000);
    expect(fired).toEqual([10, 20, 30]);
  });

  it('given a key whose receiver fails, then later keys become ready all the same', async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    const delayed = new DelayedAdds<string>(clock, (key) => {
      if (key === 'a') throw new Error('defect');
      fired.push(key);
    });
    delayed.add('a', 10);
    await expect(clock.advance(10)).rejects.toThrow('defect');
    delayed.add('b', 10);
    await clock.advance(10);
    expect(fired).toEqual(['b']);
  });

  it('given any delays and deletions, then the keys that are left become ready in order', async () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 40 }), delayMs: fc.integer({ min: 1, max: 500 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 80 }),
        fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 20 }),
        async (adds, deleted) => {
          const { clock, fired, delayed } = aFixture();
          const due = new Map<number, number>();
          for (const { key, delayMs } of adds) {
            delayed.add(String(key), delayMs);
            due.set(key, Math.min(delayMs, due.get(key) ?? Infinity));
          }
          for (const key of deleted) {
            delayed.delete(String(key));
            due.delete(key);
          }
          await clock.advance(500);
          expect(fired.map((entry) => Number(entry.split('@')[1]))).toEqual(
            [...due.values()].toSorted((a, b) => a - b),
          );
          expect(fired.toSorted()).toEqual([...due].map(([key, ms]) => `${key}@${ms}`).toSorted());
        },
      ),
      { seed: 2, numRuns: 200 },
    );
  });

  it('given any delays, then each key becomes ready once, at the earliest of its times, in order', async () => {
    const add = fc.record({ key: fc.integer({ min: 0, max: 30 }), delayMs: fc.integer({ min: 1, max: 25_000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(add, { minLength: 1, maxLength: 80 }), async (adds) => {
        const { clock, fired, delayed } = aFixture();
        const earliest = new Map<number, number>();
        for (const { key, delayMs } of adds) {
          delayed.add(String(key), delayMs);
          earliest.set(key, Math.min(delayMs, earliest.get(key) ?? Infinity));
        }
        await clock.advance(25_000);
        const expected = [...earliest].map(([key, ms]) => ({ key, ms }));
        expect(fired.toSorted()).toEqual(expected.map(({ key, ms }) => `${key}@${ms}`).toSorted());
        const times = fired.map((entry) => Number(entry.split('@')[1]));
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }),
      { seed: 1, numRuns: 30 },
    );
  });
});
