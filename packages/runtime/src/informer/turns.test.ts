// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import { createTurns } from './turns.ts';

it('given two pieces of work, then the second begins after the first, which may fail, and turns are busy until both are over', async () => {
  const turns = createTurns();
  expect(turns.busy).toBe(false);
  const first = Promise.withResolvers<string>();
  const failing = turns.take(() => first.promise);
  const begun: string[] = [];
  const second = turns.take(() => begun.push('second'));
  await settle();
  expect([turns.busy, begun]).toEqual([true, []]);
  first.reject(new Error('no'));
  await expect(failing).rejects.toThrow('no');
  expect([await second, begun, turns.busy]).toEqual([1, ['second'], false]);
});
