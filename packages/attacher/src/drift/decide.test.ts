// SPDX-License-Identifier: Apache-2.0
import { ok, refuse } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { anAttachment, attached } from '../../testing/builders.ts';
import { decide } from './decide.ts';
import type { Action, Comparison } from './state.ts';

const place = { volumeHandle: 'volume-1', nodeId: 'id-of-node1' };
const on = (...nodeIds: string[]) => new Map([['volume-1', new Set(nodeIds)]]);
const isAttached = anAttachment(attached);
const isNot = anAttachment();
const forced = (published: boolean): Action => ({ kind: 'force', place, published });

it.each<{
  row: string;
  because: string;
  given?: Partial<Comparison>;
  listed: ReturnType<typeof on>;
  then: Action;
}>([
  {
    row: 'R1',
    because: 'the list may be older than the call',
    given: { wasCalled: true },
    listed: on(),
    then: { kind: 'leave' },
  },
  {
    row: 'R2',
    because: 'it is nowhere',
    given: { place: refuse('why') },
    listed: on(),
    then: { kind: 'skip', reason: 'why' },
  },
  { row: 'R3', because: 'both say so', listed: on('id-of-node1'), then: { kind: 'unforce' } },
  { row: 'R3', because: 'both say no', given: { attachment: isNot }, listed: on(), then: { kind: 'unforce' } },
  {
    row: 'R3',
    because: 'other nodes are not its own',
    given: { attachment: isNot },
    listed: on('x'),
    then: { kind: 'unforce' },
  },
  { row: 'R4', because: 'it is lost', listed: on(), then: forced(false) },
  { row: 'R4', because: 'the volume is not listed', listed: new Map(), then: forced(false) },
  {
    row: 'R4',
    because: 'it is there unknown',
    given: { attachment: isNot },
    listed: on('id-of-node1'),
    then: forced(true),
  },
])('row $row: $because', ({ given, listed, then }) => {
  expect(decide({ attachment: isAttached, wasCalled: false, place: ok(place), ...given }, listed)).toEqual(then);
});

it('[attacher#120,135] given the volume is published on other nodes only, known or not, when compared, then its own attachment is forced', () => {
  const comparison = { attachment: isAttached, wasCalled: false, place: ok(place) };
  expect(decide(comparison, on('id-of-node2', 'nobody-knows'))).toEqual(forced(false));
  expect(decide(comparison, on('nobody-knows', 'id-of-node1'))).toEqual({ kind: 'unforce' });
});
