// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aClaim } from '../testing/builders.ts';
import { claimKey } from './claim.ts';
import { createVolumeTurns, type VolumeTurns } from './volume-turns.ts';

const [a, b] = ['a', 'b'].map((name) => claimKey(aClaim({ name }))) as [
  ReturnType<typeof claimKey>,
  ReturnType<typeof claimKey>,
];

function withWakes(): { readonly turns: VolumeTurns; readonly woken: string[] } {
  const turns = createVolumeTurns();
  const woken: string[] = [];
  for (const turn of ['expand', 'modify'] as const) turns.onFree[turn]((key) => woken.push(`${turn} ${key}`));
  return { turns, woken };
}

it('given a free turn, then it is taken; given back, then it is free', () => {
  const { turns, woken } = withWakes();
  expect(turns.take('v', 'expand', a)).toBe(true);
  turns.end('expand', a);
  expect([turns.take('v', 'modify', a), woken]).toEqual([true, []]);
});

it('given a taken turn, then others wait, each once and in their order', () => {
  const { turns, woken } = withWakes();
  turns.take('v', 'expand', a);
  const waiting = [turns.take('v', 'modify', a), turns.take('v', 'expand', b), turns.take('v', 'modify', a)];
  expect(waiting).toEqual([false, false, false]);
  for (const [turn, key] of [
    ['modify', a],
    ['expand', b],
    ['modify', a],
  ] as const)
    turns.end(turn, key);
  turns.end('expand', a);
  expect(woken).toEqual([`modify ${a}`]);
  expect(turns.take('v', 'modify', b)).toBe(false);
  turns.end('modify', b);
  expect(turns.take('v', 'modify', a)).toBe(true);
  turns.end('modify', a);
  expect(turns.take('v', 'expand', b)).toBe(true);
  turns.end('expand', b);
  expect(turns.take('v', 'modify', b)).toBe(true);
  turns.end('modify', b);
  expect(woken).toEqual([`modify ${a}`, `expand ${b}`, `modify ${b}`]);
});

it('given a promised turn whose run ends without it, then it goes to the next', () => {
  const { turns, woken } = withWakes();
  turns.take('v', 'expand', a);
  turns.take('v', 'modify', a);
  turns.end('modify', a);
  turns.take('v', 'expand', b);
  turns.end('expand', a);
  // Say, because the claim is gone.
  turns.end('modify', a);
  expect(woken).toEqual([`modify ${a}`, `expand ${b}`]);
  // A run that began before it was woken and found the turn taken does not give back what it was promised meanwhile.
  turns.end('expand', b);
  expect([turns.take('v', 'expand', a), turns.take('v', 'expand', b)]).toEqual([false, true]);
});

it('given another volume, then its turn is free', () => {
  const { turns } = withWakes();
  expect([turns.take('v', 'expand', a), turns.take('w', 'modify', a)]).toEqual([true, true]);
});
