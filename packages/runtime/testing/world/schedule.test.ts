// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { createSchedule } from './schedule.ts';

describe('a schedule', () => {
  it('given tasks of one moment, then the seed decides their order, and the same seed gives the same order', async () => {
    const orderOf = async (seed: number): Promise<string> => {
      const schedule = createSchedule({ seed });
      const order: string[] = [];
      for (const name of ['a', 'b', 'c', 'd']) schedule.process(name).post(() => void order.push(name));
      await schedule.advanceTo(0);
      return order.join('');
    };
    const orders = await Promise.all(Array.from({ length: 30 }, (_, seed) => orderOf(seed)));
    expect(new Set(orders).size).toBeGreaterThan(8);
    expect(await orderOf(3)).toBe(orders[3]);
  });

  it('given tasks of different moments, then time moves from one to the next, and promises go on in between', async () => {
    const schedule = createSchedule({ seed: 1 });
    const { clock } = schedule.process('a');
    const seen: number[] = [];
    const wait = async (): Promise<void> => {
      await clock.sleep(5);
      seen.push(clock.monotonicMs());
      await clock.sleep(2);
      seen.push(clock.monotonicMs());
    };
    void wait();
    clock.timer(6, () => void seen.push(clock.monotonicMs()));
    await schedule.advanceTo(10);
    expect([seen, schedule.elapsedMs, schedule.pending]).toEqual([[5, 6, 7], 10, 0]);
  });

  it('given a process that is killed, then nothing of it runs any more, and those who wait for its death learn why', async () => {
    const schedule = createSchedule({ seed: 1 });
    const [dying, other] = [schedule.process('dying'), schedule.process('other')];
    const seen: string[] = [];
    dying.onDeath((why) => void seen.push(why));
    dying.clock.timer(10, () => void seen.push('a timer of the dead'));
    other.post(() => dying.kill('crash'), 5);
    await schedule.advanceTo(20);
    expect([seen, dying.isDead]).toEqual([['crash'], true]);
  });

  it('given a process that dies after two tasks, then its third one never runs', async () => {
    const schedule = createSchedule({ seed: 1 });
    const process = schedule.process('a');
    let ran = 0;
    process.killAfter(2, 'crash');
    for (let task = 0; task < 5; task += 1) process.post(() => void (ran += 1), task);
    await schedule.advanceTo(10);
    expect(ran).toBe(2);
  });

  it('given a process that stands still, then its tasks are late, its clocks go on, and other processes run', async () => {
    const schedule = createSchedule({ seed: 1 });
    const [still, other] = [schedule.process('still'), schedule.process('other')];
    const seen: string[] = [];
    still.clock.timer(5, () => void seen.push(`still ${still.clock.monotonicMs()}`));
    other.clock.timer(6, () => void seen.push(`other ${other.clock.monotonicMs()}`));
    still.suspend(20);
    await schedule.advanceTo(30);
    expect(seen).toEqual(['other 6', 'still 20']);
  });

  it('given a wall clock that jumps, then that of no other process does, and durations stay', async () => {
    const schedule = createSchedule({ seed: 1 });
    const [a, b] = [schedule.process('a'), schedule.process('b')];
    a.shiftWallClock(60_000);
    expect([a.clock.nowMs() - b.clock.nowMs(), a.clock.monotonicMs()]).toEqual([60_000, 0]);
  });

  it('given a timer that is cancelled and a sleep that is aborted, then neither ends later', async () => {
    const schedule = createSchedule({ seed: 1 });
    const { clock } = schedule.process('a');
    const stop = new AbortController();
    const seen: string[] = [];
    clock.timer(5, () => void seen.push('timer')).cancel();
    clock.sleep(5, stop.signal).then(
      () => void seen.push('sleep'),
      (error: Error) => void seen.push(error.message),
    );
    stop.abort(new Error('stopped'));
    await schedule.advanceTo(10);
    expect(seen).toEqual(['stopped']);
  });
});
