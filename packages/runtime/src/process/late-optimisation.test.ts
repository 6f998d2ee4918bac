// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.ts';
import { optimiseLate } from './late-optimisation.ts';

/** One second after another, with this much CPU time in each. Resolves with the second after which the compilers were switched on, or `never`. */
async function switchedOnAfter(seconds: readonly number[]): Promise<number | 'never'> {
  const clock = new FakeClock();
  let cpuMs = 700;
  let on: number | 'never' = 'never';
  let second = 0;
  using _ = optimiseLate({ clock, compilers: { cpuMs: () => cpuMs, optimise: () => (on = second) } });
  for (const ms of seconds) {
    second += 1;
    cpuMs += ms;
    await clock.advance(1_000);
  }
  return on;
}

const times = (count: number, ms: number) => Array.from({ length: count }, () => ms);

it.each([
  { given: 'work all the time', seconds: times(20, 1_000), after: 10 },
  { given: 'work of two threads', seconds: times(20, 2_000), after: 5 },
  { given: 'a tenth of each second', seconds: times(200, 100), after: 100 },
  { given: 'less than a tenth of each second', seconds: times(200, 99), after: 'never' },
  { given: 'an idle second in the middle', seconds: [...times(9, 1_000), 99, ...times(9, 1_000)], after: 'never' },
  { given: 'enough work after an idle second', seconds: [...times(9, 1_000), 0, ...times(10, 1_000)], after: 20 },
])('given $given, then code is optimized after $after', async ({ seconds, after }) => {
  expect(await switchedOnAfter(seconds)).toBe(after);
});

it('given compilers that are on, or an end before that, then nothing is looked at any more', async () => {
  const clock = new FakeClock();
  let cpuMs = 0;
  let times = 0;
  const compilers = { cpuMs: () => (cpuMs += 20_000), optimise: () => void (times += 1) };
  using _ = optimiseLate({ clock, compilers });
  await clock.advance(10_000);
  expect([times, clock.pending]).toEqual([1, 0]);
  const other = optimiseLate({ clock, compilers });
  other[Symbol.dispose]();
  await clock.advance(10_000);
  expect([times, clock.pending]).toEqual([1, 0]);
});
