// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { type BudgetedConnection, createConnectionBudget } from './connection-budget.ts';

function aBudget(limits: { readonly connections?: number; readonly bytes?: number } = {}) {
  const closed: string[] = [];
  const budget = createConnectionBudget<BudgetedConnection>({ connections: 3, bytes: 100, ...limits });
  const open = (name: string, held?: { readonly length: number }): BudgetedConnection => {
    const connection = { address: name.slice(0, 1), held, close: () => void closed.push(name) };
    budget.add(connection);
    return connection;
  };
  return { budget, open, closed };
}

it('[runtime#212] given one client with all connections but one, when a new client connects, then the longest waiting connection of the first is closed', () => {
  const { budget, open, closed } = aBudget({ connections: 4 });
  open('b1');
  const first = open('a1');
  open('a2');
  open('a3');
  budget.isServed(first);
  budget.waitsForClient(first);
  open('c1');
  expect(closed).toEqual(['a2']);
});

it('[runtime#212] given a client whose connections are all being served, when a new client connects, then the oldest of them is closed, and for the next one the next', () => {
  const { budget, open, closed } = aBudget();
  for (const name of ['a1', 'a2', 'a3']) budget.isServed(open(name));
  open('b1');
  open('c1');
  expect(closed).toEqual(['a1', 'a2']);
});

it('[runtime#212] given a client that begins to wait again, then it has waited for a shorter time than the others', () => {
  const { budget, open, closed } = aBudget();
  const [first] = [open('a1'), open('a2'), open('a3')];
  budget.waitsForClient(first);
  open('a4');
  expect(closed).toEqual(['a2']);
});

it('[runtime#212] given connections that ended, then they count no more, and are not closed again', () => {
  const { budget, open, closed } = aBudget();
  const ended = [open('a1'), open('a2'), open('a3')];
  for (const each of ended) budget.remove(each);
  budget.waitsForClient(ended[2]!);
  open('a4');
  open('a5');
  open('a6');
  expect(closed).toEqual([]);
  open('a7');
  expect(closed).toEqual(['a4']);
});

it('[runtime#212a] given as many connections as are allowed, then one more is admitted, unless it would be the first to be closed: its address has the most, and none of them waits', () => {
  const { budget, open } = aBudget();
  const [first, second] = [open('a1'), open('a2')];
  expect(budget.admits('a')).toBe(true);
  budget.isServed(open('b1'));
  expect(budget.admits('a')).toBe(true);
  for (const each of [first, second]) budget.isServed(each);
  expect(budget.admits('a')).toBe(false);
  expect(budget.admits('c')).toBe(true);
  budget.waitsForClient(first);
  expect(budget.admits('a')).toBe(true);
});

it('[runtime#213] given answers above the limit of bytes, when another is to be sent, then those that wait longest are dropped until the rest fits', () => {
  const { budget, open, closed } = aBudget({ connections: 9 });
  budget.isServed(open('a1', { length: 200 }));
  open('a2', { length: 60 });
  open('a3');
  open('a4', { length: 50 });
  open('a5', { length: 40 });
  const newest = open('a6', { length: 50 });
  budget.makeRoomFor(newest);
  expect(closed).toEqual(['a2', 'a4']);
});

it('[runtime#213] given one answer that is larger than the limit, when small ones are sent, then none is dropped', () => {
  const { budget, open, closed } = aBudget({ connections: 9 });
  open('a1', { length: 1 });
  budget.makeRoomFor(open('a2', { length: 1000 }));
  budget.makeRoomFor(open('a3', { length: 1 }));
  expect(closed).toEqual([]);
});

it('[runtime#213] given one answer for several clients, then it counts once', () => {
  const { budget, open, closed } = aBudget({ connections: 9 });
  const page = { length: 90 };
  open('a1', { length: 90 });
  open('a2', page);
  budget.makeRoomFor(open('a3', page));
  expect(closed).toEqual([]);
});

it('[runtime#213] given answers of exactly the limit beside the largest, and a connection without one, then none is dropped', () => {
  const { budget, open, closed } = aBudget({ connections: 9 });
  open('a1', { length: 200 });
  open('a2', { length: 60 });
  open('a3');
  budget.makeRoomFor(open('a4', { length: 40 }));
  expect(closed).toEqual([]);
});

it('[runtime#213] given answers above the limit of bytes that are all being served, then none is dropped', () => {
  const { budget, open, closed } = aBudget();
  budget.isServed(open('a1', { length: 200 }));
  budget.makeRoomFor(open('a2', { length: 150 }));
  expect(closed).toEqual([]);
});

it('[runtime#213] given an answer whose connection has waited longest, then others are dropped for it', () => {
  const { budget, open, closed } = aBudget();
  const newest = open('a1', { length: 200 });
  open('a2', { length: 150 });
  budget.makeRoomFor(newest);
  expect(closed).toEqual(['a2']);
});
