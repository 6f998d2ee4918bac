// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { settle } from '../../testing/index.ts';
import { createKeyedLock } from './keyed-lock.ts';

/** Work that ends on request, and the order in which it begins. */
function works() {
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  return {
    begun,
    work: (name: string) => (): Promise<string> => {
      begun.push(name);
      const end = Promise.withResolvers<string>();
      ends.set(name, end);
      return end.promise;
    },
    end: (name: string): void => ends.get(name)?.resolve(name),
    fail: (name: string): void => ends.get(name)?.reject(new Error(name)),
  };
}

it('given work of one key, then each begins when the one before has ended, whatever became of it; other keys do not wait', async () => {
  const lock = createKeyedLock<string>();
  const { begun, work, end, fail } = works();
  expect(lock.isHeld('data')).toBe(false);
  const first = lock.run('data', work('first'));
  const second = lock.run('data', work('second'));
  const third = lock.run('data', () => 'third');
  const other = lock.run('logs', work('other'));
  await settle();
  expect([begun, lock.isHeld('data'), lock.isHeld('logs')]).toEqual([['first', 'other'], true, true]);
  fail('first');
  await expect(first).rejects.toThrow('first');
  await settle();
  expect(begun).toEqual(['first', 'other', 'second']);
  end('second');
  end('other');
  expect(await Promise.all([second, third, other])).toEqual(['second', 'third', 'other']);
  expect([lock.isHeld('data'), lock.isHeld('logs')]).toEqual([false, false]);
});

it('given those that do not wait, then the lock is handed on in their order while it is released', () => {
  const lock = createKeyedLock<string>();
  const held: string[] = [];
  for (const name of ['a', 'b', 'c']) lock.acquire('data', () => held.push(name));
  expect(held).toEqual(['a']);
  lock.release('data');
  expect(held).toEqual(['a', 'b']);
  lock.release('data');
  expect([held, lock.isHeld('data')]).toEqual([['a', 'b', 'c'], true]);
  lock.release('data');
  expect(lock.isHeld('data')).toBe(false);
});
