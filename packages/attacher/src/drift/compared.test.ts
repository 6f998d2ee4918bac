// SPDX-License-Identifier: Apache-2.0
import { ok, refuse } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { anAttachment, attached } from '../../testing/builders.ts';
import { type Action, type Comparison, decide } from './loop.ts';

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
    because: 'a call to the driver since before the list was requested',
    given: { wasCalled: true },
    listed: on(),
    then: { row: 'R1', kind: 'leave' },
  },
  {
    id: '[attacher#R2]',
    because: 'a node id that cannot be determined',
    given: { names: refuse('why') },
    listed: on(),
    then: { row: 'R2', kind: 'skip', reason: 'why' },
  },
  {
    id: '[attacher#R3]',
    because: 'a status and a driver that agree on published',
    listed: on('id-of-node1'),
    then: { row: 'R3', kind: 'unforce' },
  },
  {
    id: '[attacher#R3]',
    because: 'a status and a driver that agree on not published',
    given: { attachment: isNot },
    listed: on(),
    then: { row: 'R3', kind: 'unforce' },
  },
  {
    id: '[attacher#R3]',
    because: 'an unattached attachment of a volume on another node only',
    given: { attachment: isNot },
    listed: on('x'),
    then: { row: 'R3', kind: 'unforce' },
  },
  {
    id: '[attacher#R4]',
    because: 'an attached volume that the driver does not list on the node',
    listed: on(),
    then: forced(false),
  },
  {
    id: '[attacher#R4]',
    because: 'an attached volume that the driver does not list at all',
    listed: new Map(),
    then: forced(false),
  },
  {
    id: '[attacher#R4]',
    because: 'a published volume whose status is not attached',
    given: { attachment: isNot },
    listed: on('id-of-node1'),
    then: forced(true),
  },
])('$id given $because, then the action is $then.kind', ({ given, listed, then }) => {
  expect(decide({ attachment: isAttached, wasCalled: false, names: ok(names), ...given }, listed)).toEqual(then);
});

it('[attacher#120,135] given an attached volume that is published on other nodes only, known or unknown, when it is compared, then its attachment is forced', () => {
  const comparison = { attachment: isAttached, wasCalled: false, names: ok(names) };
  expect(decide(comparison, on('id-of-node2', 'unknown-node'))).toEqual(forced(false));
  expect(decide(comparison, on('unknown-node', 'id-of-node1'))).toEqual({ row: 'R3', kind: 'unforce' });
});
