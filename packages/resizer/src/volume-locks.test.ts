// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aClaim } from '../testing/builders.ts';
import { claimKey } from './claim.ts';
import { createVolumeLocks, type VolumeLocks } from './volume-locks.ts';

const [a, b] = ['a', 'b'].map((name) => claimKey(aClaim({ name }))) as [
  ReturnType<typeof claimKey>,
  ReturnType<typeof claimKey>,
];

function withWakes(): { readonly locks: VolumeLocks; readonly woken: string[] } {
  const locks = createVolumeLocks();
  const woken: string[] = [];
  for (const loop of ['expand', 'modify'] as const) locks.onFree[loop]((key) => woken.push(`${loop} ${key}`));
  return { locks, woken };
}

it('given a free volume, then its lock is taken; released, then it is free', () => {
  const { locks, woken } = withWakes();
  expect(locks.take('v', 'expand', a)).toBe(true);
  locks.end('expand', a);
  expect([locks.take('v', 'modify', a), woken]).toEqual([true, []]);
});

it('given a locked volume, then others wait, each once and in their order', () => {
  const { locks, woken } = withWakes();
  locks.take('v', 'expand', a);
  const waiting = [locks.take('v', 'modify', a), locks.take('v', 'expand', b), locks.take('v', 'modify', a)];
  expect(waiting).toEqual([false, false, false]);
  for (const [loop, key] of [
    ['modify', a],
    ['expand', b],
    ['modify', a],
  ] as const)
    locks.end(loop, key);
  locks.end('expand', a);
  expect(woken).toEqual([`modify ${a}`]);
  expect(locks.take('v', 'modify', b)).toBe(false);
  locks.end('modify', b);
  expect(locks.take('v', 'modify', a)).toBe(true);
  locks.end('modify', a);
  expect(locks.take('v', 'expand', b)).toBe(true);
  locks.end('expand', b);
  expect(locks.take('v', 'modify', b)).toBe(true);
  locks.end('modify', b);
  expect(woken).toEqual([`modify ${a}`, `expand ${b}`, `modify ${b}`]);
});

it('given a promised lock whose run ends without it, then it goes to the next', () => {
  const { locks, woken } = withWakes();
  locks.take('v', 'expand', a);
  locks.take('v', 'modify', a);
  locks.end('modify', a);
  locks.take('v', 'expand', b);
  locks.end('expand', a);
  // Say, because the claim is gone.
  locks.end('modify', a);
  expect(woken).toEqual([`modify ${a}`, `expand ${b}`]);
  // A run that began before it was woken and found the volume locked does not release what it was promised meanwhile.
  locks.end('expand', b);
  expect([locks.take('v', 'expand', a), locks.take('v', 'expand', b)]).toEqual([false, true]);
});

it('given a run that has locked a volume and finds another one locked, when it ends, then the first is free, and the other is promised to it', () => {
  const { locks, woken } = withWakes();
  locks.take('w', 'expand', b);
  expect([locks.take('v', 'expand', a), locks.take('w', 'expand', a)]).toEqual([true, false]);
  locks.end('expand', a);
  expect(locks.take('v', 'modify', b)).toBe(true);
  locks.end('expand', b);
  expect([woken, locks.take('w', 'expand', a)]).toEqual([[`expand ${a}`], true]);
});

it('given another volume, then it is free', () => {
  const { locks } = withWakes();
  expect([locks.take('v', 'expand', a), locks.take('w', 'modify', a)]).toEqual([true, true]);
});
