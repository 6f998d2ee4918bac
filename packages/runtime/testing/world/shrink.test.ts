// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { shrink } from './shrink.ts';

const parts = Array.from({ length: 40 }, (_, index) => index);

it('given a failure that needs two parts, then these two are left', async () => {
  const fails = async (some: readonly number[]): Promise<boolean> => some.includes(7) && some.includes(31);
  expect(await shrink({ parts, fails })).toEqual([7, 31]);
});

it('given parts that can be simpler, then each is as simple as the failure allows', async () => {
  const fails = async (some: readonly number[]): Promise<boolean> => some.some((each) => each >= 5);
  const simpler = (part: number): readonly number[] => (part > 5 ? [5] : []);
  expect(await shrink({ parts, fails, simpler })).toEqual([5]);
});

it('given a limit of attempts, then the shortest story so far is the result', async () => {
  let attempts = 0;
  const fails = async (some: readonly number[]): Promise<boolean> => {
    attempts += 1;
    return some.includes(39);
  };
  const shortest = await shrink({ parts, fails, attempts: 3 });
  expect([attempts, shortest.length, shortest.includes(39)]).toEqual([3, 10, true]);
});
