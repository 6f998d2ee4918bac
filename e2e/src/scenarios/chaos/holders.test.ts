// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import type { Outcome } from '@csi-sidecars/test-driver';
import type { PublishCall, UnpublishCall } from '../../driver/calls.ts';
import { holdingsOf } from './holders.ts';

const answered: Outcome = { kind: 'answered', response: {} };
const refused: Outcome = { kind: 'refused', code: 'Aborted', message: '' };

function call(node: string, times: readonly [number, number?], outcome: Outcome | undefined): object {
  const [beganAtMs, endedAtMs] = times;
  return { request: { volume_id: 'volume', node_id: node }, beganAtMs, endedAtMs, outcome };
}
const publish = (node: string, times: readonly [number, number?], outcome: Outcome | undefined = answered) =>
  call(node, times, outcome) as PublishCall;
const unpublish = (node: string, times: readonly [number, number?], outcome: Outcome | undefined = answered) =>
  call(node, times, outcome) as UnpublishCall;

it('given a volume that moves, then nobody had it twice and nobody has it in the end', () => {
  const published = [publish('a', [1, 2]), publish('b', [4, 5])];
  const unpublished = [unpublish('a', [3, 4]), unpublish('b', [6, 7])];
  expect(holdingsOf({ published, unpublished })).toEqual({ breaches: [], left: [] });
});

it('given the second node while the first is being detached, then that is a breach', () => {
  const published = [publish('a', [1, 2]), publish('b', [4, 5])];
  const unpublished = [unpublish('a', [3, 5])];
  expect(holdingsOf({ published, unpublished })).toEqual({
    breaches: [{ volume: 'volume', holder: 'a', other: 'b', atMs: 4 }],
    left: ['volume'],
  });
});

it('given a call that never got its answer, then it counts as attached until it is undone', () => {
  const unfinished = call('a', [1], undefined) as PublishCall;
  const published = [unfinished, publish('b', [4, 5], refused)];
  expect(holdingsOf({ published, unpublished: [] }).breaches.map(({ other }) => other)).toEqual(['b']);
  const unpublished = [unpublish('a', [2, 3])];
  expect(holdingsOf({ published, unpublished })).toEqual({ breaches: [], left: [] });
});

it('given a detachment that began before the volume was attached again, then it does not undo that', () => {
  const published = [publish('a', [1, 2]), publish('a', [4, 6])];
  expect(holdingsOf({ published, unpublished: [unpublish('a', [3, 5])] }).left).toEqual(['volume']);
});
