// SPDX-License-Identifier: Apache-2.0
import { ok, refuse } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { anAttachment, attached } from '../../testing/builders.ts';
import { decide } from './decide.ts';
import type { Action, Comparison } from './state.ts';

const names = { volumeHandle: 'volume-1', nodeId: 'id-of-node1' };
const on = (...nodeIds: string[]) => new Map([['volume-1', new Set(nodeIds)]]);
const isAttached = anAttachment(attached);
const isNot = anAttachment();
const forced = (isPublished: boolean): Action => ({ row: 'R4', kind: 'force', names, isPublished });

it.each<{
  id: string;
  because: string;
  given?: Partial<Comparison>;
  listed: ReturnType<typeof on>;
  then: Action;
}>([
  {
    id: '[attacher#R1]',
    because: 'a call since before the list was requested',
    given: { wasCalled: true },
    listed: on(),
    then: { row: 'R1', kind: 'leave' },
  },
  {
    id: '[attacher#R2]',
    because: 'no names at the driver',
    given: { names: refuse('why') },
    listed: on(),
    then: { row: 'R2', kind: 'skip', reason: 'why' },
  },
  {
    id: '[attacher#R3]',
    because: 'status and driver agree that it is published',
    listed: on('id-of-node1'),
    then: { row: 'R3', kind: 'unforce' },
  },
  {
    id: '[attacher#R3]',
    because: 'status and driver agree that it is not',
    given: { attachment: isNot },
    listed: on(),
    then: { row: 'R3', kind: 'unforce' },
  },
  {
    id: '[attacher#R3]',
    because: 'the volume on another node only',
    given: { attachment: isNot },
    listed: on('x'),
    then: { row: 'R3', kind: 'unforce' },
  },
  { id: '[attacher#R4]', because: 'a node that the driver does not list', listed: on(), then: forced(false) },
  { id: '[attacher#R4]', because: 'a volume that the driver does not list', listed: new Map(), then: forced(false) },
  {
    id: '[attacher#R4]',
    because: 'a publication that the status does not show',
    given: { attachment: isNot },
    listed: on('id-of-node1'),
    then: forced(true),
  },
])('$id given $because', ({ given, listed, then }) => {
  expect(decide({ attachment: isAttached, wasCalled: false, names: ok(names), ...given }, listed)).toEqual(then);
});

it('[attacher#120,135] given the volume is published on other nodes only, known or not, when compared, then its own attachment is forced', () => {
  const comparison = { attachment: isAttached, wasCalled: false, names: ok(names) };
  expect(decide(comparison, on('id-of-node2', 'unknown-node'))).toEqual(forced(false));
  expect(decide(comparison, on('unknown-node', 'id-of-node1'))).toEqual({ row: 'R3', kind: 'unforce' });
});
