// SPDX-License-Identifier: Apache-2.0
import { type ObjectKey, toObjectKey } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { createWriteTurns } from './write-turns.ts';

const [one, two, three] = ['1', '2', '3'].map((name) => toObjectKey(undefined, name)) as [
  ObjectKey,
  ObjectKey,
  ObjectKey,
];
const add = { kind: 'add', namespace: 'a' } as const;
const change = { kind: 'change', namespace: 'a' } as const;

it('given no obstacle, then everyone may write', () => {
  const turns = createWriteTurns();
  expect([turns.take(one, add), turns.take(two, change), turns.noteStored(add)]).toEqual([
    true,
    true,
    { released: [], endsDrops: false },
  ]);
});

it('given dropped writes, then one in each cycle may write, those that change what is there may too, and a stored write releases all', () => {
  const turns = createWriteTurns();
  expect([turns.noteDropped(one), turns.noteDropped(two)]).toEqual([true, false]);
  expect([turns.take(one, add), turns.take(three, change)]).toEqual([false, true]);
  turns.beginCycle();
  expect([turns.take(two, add), turns.take(one, add), turns.take(three, add)]).toEqual([true, false, false]);
  turns.forget(three);
  expect(turns.noteStored(change)).toEqual({ released: [], endsDrops: false });
  expect(turns.noteStored(add)).toEqual({ released: [one], endsDrops: true });
  expect(turns.take(one, add)).toBe(true);
  expect(turns.noteDropped(one)).toBe(true);
});

it('given a namespace whose writes are forbidden, then it waits, and others do not', () => {
  const turns = createWriteTurns();
  turns.noteForbidden(one, 'a');
  expect([turns.take(two, change), turns.take(three, { kind: 'add', namespace: 'b' })]).toEqual([false, true]);
  turns.beginCycle();
  turns.noteDropped(three);
  // The cycle's probe of the namespace stays for a write that both obstacles let through.
  expect([turns.take(one, add), turns.take(two, change)]).toEqual([false, true]);
  expect(turns.noteStored(change)).toEqual({ released: [one], endsDrops: false });
});
