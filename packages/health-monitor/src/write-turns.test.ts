// SPDX-License-Identifier: Apache-2.0
import { type ObjectKey, toObjectKey } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { createWriteTurns } from './write-turns.ts';

const [one, two, three] = ['1', '2', '3'].map((name) => toObjectKey(undefined, name)) as [
  ObjectKey,
  ObjectKey,
  ObjectKey,
];
const set = { kind: 'set', namespace: 'a' } as const;
const clear = { kind: 'clear', namespace: 'a' } as const;

it('given no obstacle, then everyone may write', () => {
  const turns = createWriteTurns();
  expect([turns.take(one, set), turns.take(two, clear), turns.noteStored(set)]).toEqual([
    true,
    true,
    { released: [], endsDrops: false },
  ]);
});

it('given dropped writes, then one in each cycle may write, those that clear may too, and a stored write releases all', () => {
  const turns = createWriteTurns();
  expect([turns.noteDropped(one), turns.noteDropped(two)]).toEqual([true, false]);
  expect([turns.take(one, set), turns.take(three, clear)]).toEqual([false, true]);
  turns.beginCycle();
  expect([turns.take(two, set), turns.take(one, set), turns.take(three, set)]).toEqual([true, false, false]);
  turns.forget(three);
  expect(turns.noteStored(clear)).toEqual({ released: [], endsDrops: false });
  expect(turns.noteStored(set)).toEqual({ released: [one], endsDrops: true });
  expect(turns.take(one, set)).toBe(true);
  expect(turns.noteDropped(one)).toBe(true);
});

it('given a namespace whose writes are forbidden, then it waits, and others do not', () => {
  const turns = createWriteTurns();
  turns.noteForbidden(one, 'a');
  expect([turns.take(two, clear), turns.take(three, { kind: 'set', namespace: 'b' })]).toEqual([false, true]);
  turns.beginCycle();
  turns.noteDropped(three);
  // The cycle's probe of the namespace stays for a write that both obstacles let through.
  expect([turns.take(one, set), turns.take(two, clear)]).toEqual([false, true]);
  expect(turns.noteStored(clear)).toEqual({ released: [one], endsDrops: false });
});
