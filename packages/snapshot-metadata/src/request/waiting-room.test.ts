// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createWaitingRoom, type Place, type WaitingRoom } from './waiting-room.ts';

function enter(room: WaitingRoom, group: string, { name = group, times = 1 } = {}): readonly Place[] {
  return Array.from({ length: times }, () => room.enter({ group, name }));
}
const inRoom = (places: readonly Place[]): number => places.filter(({ signal }) => !signal.aborted).length;
const refusal = 'too many requests wait for their review: at most 128 of one address';

it('[snapshot-metadata#L1] given 128 requests of one connection that wait, then its next one is refused; given that one leaves, then the next enters', () => {
  const room = createWaitingRoom();
  const places = enter(room, 'a', { times: 128 });
  expect(() => enter(room, 'a')).toThrow(refusal);
  expect(inRoom(places)).toBe(128);
  places[0]![Symbol.dispose]();
  expect(inRoom(enter(room, 'a'))).toBe(1);
  expect(() => enter(room, 'a')).toThrow(refusal);
});

it('[snapshot-metadata#L1] given 128 requests of one address, when another connection of it asks, then the newest of the connection with most gives way', () => {
  const room = createWaitingRoom();
  const few = enter(room, 'a', { name: 'a:1', times: 28 });
  const many = enter(room, 'a', { name: 'a:2', times: 100 });
  const another = enter(room, 'a', { name: 'a:3', times: 10 });
  expect([few, many, another].map(inRoom)).toEqual([28, 90, 10]);
  expect(many.findIndex(({ signal }) => signal.aborted)).toBe(90);
  expect(many[99]!.signal.reason).toMatchObject({ row: 'L1', code: 'ResourceExhausted', message: refusal });
});

it('[snapshot-metadata#L1] given 1024 requests in all, when another address asks, then one of the address with most gives way, and no other', () => {
  const room = createWaitingRoom();
  const full = Array.from({ length: 7 }, (_, index) => enter(room, `full-${index}`, { times: 128 }));
  const rest = enter(room, 'rest', { times: 127 });
  expect(inRoom(enter(room, 'good'))).toBe(1);
  expect(full.map(inRoom)).toEqual(Array.from({ length: 7 }, () => 128));
  expect(inRoom(enter(room, 'good'))).toBe(1);
  expect(full.map(inRoom).toSorted((a, b) => a - b)).toEqual([127, 128, 128, 128, 128, 128, 128]);
  expect(inRoom(rest)).toBe(127);
});

it('[snapshot-metadata#L1] given a request that gave way, when it leaves, then its place is not given back a second time', () => {
  const room = createWaitingRoom();
  const places = enter(room, 'a', { name: 'a:1', times: 128 });
  const [another] = enter(room, 'a', { name: 'a:2' });
  for (const place of places.filter(({ signal }) => signal.aborted)) place[Symbol.dispose]();
  another?.[Symbol.dispose]();
  enter(room, 'a', { name: 'a:1' });
  expect(() => enter(room, 'a', { name: 'a:1' })).toThrow(refusal);
});
