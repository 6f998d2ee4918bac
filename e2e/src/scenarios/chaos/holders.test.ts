// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { Outcome } from '@csi-sidecars/test-driver';
import type { PublishCall, UnpublishCall } from '../../driver/calls.ts';
import { holdingsOf } from './holders.ts';

type Times = readonly [beganAtMs: number, endedAtMs?: number];

const answered = { kind: 'answered', response: {} } as const;
const refused = { kind: 'refused', code: 'Aborted', message: '' } as const;

function call(node: string, [beganAtMs, endedAtMs]: Times, outcome: Outcome): object {
  const request = { volume_id: 'volume', node_id: node };
  return { request, beganAtMs, endedAtMs, outcome: endedAtMs === undefined ? undefined : outcome };
}
const publish = (node: string, times: Times, outcome: Outcome = answered): PublishCall =>
  call(node, times, outcome) as PublishCall;
const unpublish = (node: string, times: Times, outcome: Outcome = answered): UnpublishCall =>
  call(node, times, outcome) as UnpublishCall;

const fine = { breaches: [], early: [], left: [] };
const meeting = { volume: 'volume', holder: 'a', other: 'b' };

it('given a volume that moves, then no two nodes had it at a time, and no node has it in the end', () => {
  const published = [publish('a', [1, 2]), publish('b', [4, 5])];
  const unpublished = [unpublish('a', [3, 4]), unpublish('b', [6, 7])];
  expect(holdingsOf({ published, unpublished })).toEqual(fine);
});

it('given a second node before the first is detached, then both had it', () => {
  const published = [publish('a', [1, 2]), publish('b', [4, 5])];
  const unpublished = [unpublish('a', [6, 7]), unpublish('b', [8, 9])];
  expect(holdingsOf({ published, unpublished })).toEqual({
    breaches: [{ ...meeting, atMs: 5 }],
    early: [{ ...meeting, atMs: 4 }],
    left: [],
  });
});

it('given a second node while the first is being detached, then the second call came early, and nothing more is certain', () => {
  const published = [publish('a', [1, 2]), publish('b', [4, 6])];
  const unpublished = [unpublish('a', [3]), unpublish('a', [7, 8]), unpublish('b', [9, 10])];
  expect(holdingsOf({ published, unpublished })).toEqual({ ...fine, early: [{ ...meeting, atMs: 4 }] });
});

it('given a call that never got its answer, then the node may have the volume until it is detached', () => {
  const published = [publish('a', [1])];
  expect(holdingsOf({ published, unpublished: [] })).toEqual({ ...fine, left: ['volume'] });
  expect(holdingsOf({ published, unpublished: [unpublish('a', [2, 3])] })).toEqual(fine);
});

it('given a refused call, then it changes nothing', () => {
  expect(holdingsOf({ published: [publish('a', [1, 2], refused)], unpublished: [] })).toEqual(fine);
});

it('given a detachment that began before the volume was attached again, then it does not undo that', () => {
  const published = [publish('a', [1, 2]), publish('a', [4, 6])];
  expect(holdingsOf({ published, unpublished: [unpublish('a', [3, 5])] }).left).toEqual(['volume']);
});
