// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { growingPace } from './growing-pace.ts';

it.each([
  [{ firstMs: 60_000 }, [60, 180, 420, 720, 1020, 1320, 1620]],
  [{ firstMs: 60_000, longestMs: 900_000 }, [60, 180, 420, 900, 1800]],
])('given the pace %o, then it is due after pauses that double up to the longest', async (options, expected) => {
  const clock = new FakeClock();
  await clock.advance(7_000);
  const pace = growingPace(clock, options);
  const due: number[] = [];
  for (let second = 1; second <= 1800; second += 1) {
    await clock.advance(1_000);
    if (pace.isDue()) due.push(pace.forSeconds());
  }
  expect(due).toEqual(expected);
});
