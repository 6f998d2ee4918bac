// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createDaily } from './daily.ts';

const dayMs = 24 * 3_600_000;

it('given findings, then each is due once in a day, and at most 20 in a pass', () => {
  const begin = createDaily();
  const keys = Array.from({ length: 25 }, (_, at) => `k${at}`);
  const dueAt = (nowMs: number): readonly string[] => {
    const { isDue } = begin(nowMs);
    return keys.filter((key) => isDue(key));
  };
  expect(dueAt(0)).toEqual(keys.slice(0, 20));
  expect(dueAt(1)).toEqual(keys.slice(20));
  expect(dueAt(dayMs - 1)).toEqual([]);
  expect(dueAt(dayMs)).toEqual(keys.slice(0, 20));
});
