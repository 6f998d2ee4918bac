// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createLogTime } from './open-log.ts';

it('[common#72] given a wall clock of milliseconds and a monotonic one with fractions, then log times have microseconds', () => {
  let trueMs = 1_000_000.25;
  let setMs = 0;
  const time = createLogTime({ nowMs: () => Math.floor(trueMs + setMs), monotonicMs: () => trueMs - 999_000 });
  const times = [];
  for (const afterMs of [0, 0.125, 0.5, 0.125, 0.25, 1, 0.25]) {
    trueMs += afterMs;
    const ms = time();
    expect(Math.abs(ms - trueMs)).toBeLessThan(1);
    times.push(ms);
  }
  expect(times.toSorted((a, b) => a - b)).toEqual(times);
  expect(times.slice(1, 3)).toEqual([1_000_000.125, 1_000_000.625]);
  for (setMs of [-3_600_000, 3_600_000]) {
    expect(time()).toBe(Math.floor(trueMs) + setMs);
    trueMs += 0.125;
    expect(time()).toBe(Math.floor(trueMs) + setMs + 0.125);
  }
});

it.each([
  [0.5, 1_000_000.5],
  [1, 1_000_000],
  [1.5, 1_000_000],
])('given a wall clock that stands still for %f ms since the start, then the log time is %f', (afterMs, expectedMs) => {
  let monotonicMs = 500;
  const time = createLogTime({ nowMs: () => 1_000_000, monotonicMs: () => monotonicMs });
  monotonicMs += afterMs;
  expect(time()).toBe(expectedMs);
});
