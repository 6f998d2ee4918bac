// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, seededRandom, until } from './index.ts';

describe('FakeClock', () => {
  it('fires timers in the order of their due time, those set on the way included', async () => {
    const clock = new FakeClock();
    const seen: string[] = [];
    const note = (what: string) => () => {
      seen.push(`${what}@${clock.monotonicMs()}`);
    };
    clock.timer(20, note('b'));
    clock.timer(20, note('c'));
    clock.timer(10, note('a'));
    void clock.sleep(5).then(() => clock.timer(10, note('nested')));
    clock.timer(12, note('cancelled')).cancel();
    await clock.advance(20);
    expect(seen).toEqual(['a@10', 'nested@15', 'b@20', 'c@20']);
    expect(clock.pending).toBe(0);
  });

  it('lets promises continue before time moves on', async () => {
    const clock = new FakeClock();
    const seen: number[] = [];
    const loop = (async () => {
      for (let turn = 0; turn < 3; turn += 1) {
        await clock.sleep(100);
        seen.push(clock.monotonicMs());
      }
    })();
    await clock.advance(300);
    await loop;
    expect(seen).toEqual([100, 200, 300]);
  });

  it('shifts the wall clock without touching the monotonic one', async () => {
    const clock = new FakeClock({ nowMs: 1000 });
    clock.shiftWallClock(-500);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([500, 0]);
    clock.timer(70, () => undefined);
    expect([await clock.advanceToNext(), await clock.advanceToNext()]).toEqual([true, false]);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([570, 70]);
  });
});

describe('seededRandom', () => {
  it('repeats itself for a seed and differs between seeds', () => {
    const draw = (seed: number) => {
      const random = seededRandom(seed);
      return [random.next(), random.next(), random.uuid()];
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(draw(7)[2]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

describe('recordingLogger', () => {
  it('keeps the lines of derived loggers and drops what is too verbose', () => {
    const logger = recordingLogger({ verbosity: 2 });
    const cause = new Error('cause');
    logger.with({ pv: 'a' }).info(2, 'kept', { n: 1 });
    logger.info(3, 'dropped');
    logger.error(cause, 'failed');
    expect(logger.lines).toEqual([
      { kind: 'info', level: 2, message: 'kept', facts: { pv: 'a', n: 1 } },
      { kind: 'error', message: 'failed', facts: {}, error: cause },
    ]);
  });
});

describe('until', () => {
  it('given a condition that never becomes true, then it throws after the limit, with the condition in its message', async () => {
    let asked = 0;
    const waiting = until(() => (asked += 1) === 0, 20);
    await expect(waiting).rejects.toThrow('not so within 20 ms: () => (asked += 1) === 0');
    expect(asked).toBeGreaterThan(1);
  });

  it('given a condition that becomes true later, then it resolves', async () => {
    let turns = 0;
    await until(() => (turns += 1) === 50, 5_000);
    expect(turns).toBe(50);
  });
});
