// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { createSlowSet } from './slow-set.ts';

describe('createSlowSet', () => {
  it('[common#58] given a key that is added twice, then its first time and data stay', async () => {
    const clock = new FakeClock();
    const slow = createSlowSet<string, string>(clock, 1000);
    expect(slow.add('ns/a', 'first')).toBe(true);
    await clock.advance(400);
    expect(slow.add('ns/a', 'second')).toBe(false);
    expect([slow.get('ns/a'), slow.timeRemainingMs('ns/a')]).toEqual(['first', 600]);
  });

  it('[common#59] given an age that reaches the retention, then the key is not contained, swept or not', async () => {
    const clock = new FakeClock();
    const slow = createSlowSet<string, number>(clock, 1000);
    slow.add('ns/a', 1);
    await clock.advance(999);
    expect(slow.contains('ns/a')).toBe(true);
    await clock.advance(1);
    expect([slow.contains('ns/a'), slow.get('ns/a'), slow.timeRemainingMs('ns/a')]).toEqual([false, 1, 0]);
    expect(slow.add('ns/a', 2)).toBe(false);
    await clock.advance(50);
    expect(slow.timeRemainingMs('ns/a')).toBe(-50);
  });

  it('given the sweeper, then it removes what is older than the retention, until it is stopped', async () => {
    const clock = new FakeClock();
    const slow = createSlowSet<string, number>(clock, 1000);
    const stop = new AbortController();
    const running = slow.run(stop.signal);
    slow.add('ns/a', 1);
    await clock.advance(500);
    slow.add('ns/b', 2);
    await clock.advance(600);
    expect([slow.get('ns/a'), slow.get('ns/b')]).toEqual([undefined, 2]);
    stop.abort();
    await running;
    expect(clock.pending).toBe(0);
  });

  it('given a key that is removed or was never there, then it may be added again', () => {
    const slow = createSlowSet<string, number>(new FakeClock(), 1000);
    slow.add('ns/a', 1);
    slow.remove('ns/a');
    expect([slow.contains('ns/a'), slow.timeRemainingMs('ns/a'), slow.add('ns/a', 2)]).toEqual([false, 0, true]);
  });
});
