// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { type Budget, createBudget } from './budget.ts';

/** How many units are free before the next one has to wait, which is then waited for. */
async function freeUnits(budget: Budget): Promise<number> {
  for (let free = 0; ; free += 1) {
    const turn = budget.spend();
    if (turn === undefined) continue;
    await turn;
    return free;
  }
}

it('given units that take no time, then every 500th waits for a turn of the event loop', async () => {
  const clock = new FakeClock();
  let turns = 0;
  clock.yieldToLoop = async () => void (turns += 1);
  const budget = createBudget(clock);
  expect([await freeUnits(budget), await freeUnits(budget), turns]).toEqual([499, 499, 2]);
});

it.each([
  { tookMs: 9.9, free: 499 },
  { tookMs: 10, free: 7 },
])(
  'given a clock that has run for a second and units that took $tookMs ms, then $free are free',
  async ({ tookMs, free }) => {
    const clock = new FakeClock();
    clock.suspend(1_000);
    const budget = createBudget(clock);
    clock.suspend(tookMs);
    expect(await freeUnits(budget)).toBe(free);
  },
);

it('given a turn that took long, then the time of the next one is counted from its end', async () => {
  const clock = new FakeClock();
  clock.yieldToLoop = async () => clock.suspend(1_000);
  const budget = createBudget(clock);
  clock.suspend(10);
  expect([await freeUnits(budget), await freeUnits(budget)]).toEqual([7, 499]);
});
