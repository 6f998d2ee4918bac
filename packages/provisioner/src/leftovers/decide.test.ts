// SPDX-License-Identifier: Apache-2.0
/** One line per row of the table of leftovers: the subject, and what may become of it. */
import { expect, it } from 'vitest';
import { aClaim, aVolume, driverName } from '../../testing/builders.ts';
import { aCapacity } from '../../testing/leftovers-fixture.ts';
import { aSnapshot } from '../../testing/source-builders.ts';
import { decide } from './decide.ts';
import type { Capacity, ClaimFinalizer, SourceFinalizer, Subject, VolumeFinalizer } from './state.ts';

const base = { driver: driverName, presence: 'live' } as const;

function claim(facts: Partial<ClaimFinalizer> = {}): Subject {
  const finalizer = 'provisioning';
  const found = {
    object: aClaim(),
    finalizer,
    volumeName: 'pvc-1',
    record: 'none',
    node: undefined,
    binding: 'open',
  } as const;
  return { kind: 'claimFinalizer', ...base, ...found, ...facts };
}

function source(facts: Partial<SourceFinalizer> = {}): Subject {
  const found = { object: aSnapshot(), source: 'snapshot', finalizer: 'protection', neededBy: undefined } as const;
  return { kind: 'sourceFinalizer', ...base, ...found, ...facts };
}

function volume(facts: Partial<VolumeFinalizer> = {}): Subject {
  const found = { object: aVolume(), finalizer: 'f', policy: 'Delete', phase: 'Bound', handle: 'h-1' } as const;
  return { kind: 'volumeFinalizer', ...base, ...found, reachable: 'yes', ...facts };
}

function capacity(facts: Partial<Capacity> = {}): Subject {
  const found = { object: aCapacity(), owner: 'none', instance: 'central', installed: 'no' } as const;
  return { kind: 'capacity', ...base, ...found, ...facts };
}

const deleted = { presence: 'deleted' } as const;
const noNode = { reachable: 'no' } as const;
const [gone, there, selected] = [
  { name: 'n1', presence: 'gone', selected: 'no' },
  { name: 'n1', presence: 'there', selected: 'no' },
  { name: 'n1', presence: 'there', selected: 'yes' },
] as const;
const alone: Subject = { kind: 'claimAnnotation', ...base, object: aClaim(), annotation: 'a' };

const table: readonly (readonly [string, string, Subject, string])[] = [
  ['U1', 'a recorded volume', claim({ record: 'recorded' }), 'safe'],
  ['U1', 'a recorded volume of a gone node', claim({ record: 'recorded', node: gone, ...deleted }), 'safe'],
  ['U1', 'a recorded volume of the selected node', claim({ record: 'recorded', node: selected }), 'safe'],
  ['U1', 'a recorded volume, bound', claim({ record: 'recorded', node: there, binding: 'bound' }), 'safe'],
  [
    'U15',
    'a recorded volume, not bound, of another node than the selected one',
    claim({ record: 'recorded', node: there }),
    'manual',
  ],
  ['U15', 'a recorded volume, not bound, of a gone node', claim({ record: 'recorded', node: gone }), 'manual'],
  ['U2', 'the node is gone', claim({ node: gone }), 'unsettled pvc-1'],
  ['U3', 'a deleted claim without a record', claim(deleted), 'unsettled pvc-1'],
  ['U3', 'a deleted claim whose node is there', claim({ ...deleted, node: there }), 'unsettled pvc-1'],
  ['U4', 'a live claim without a record', claim(), 'unsettled pvc-1'],
  ['U5', 'the annotation without the finalizer', alone, 'safe'],
  ['U6', 'a claim is made from it', source({ neededBy: 'team/clone' }), 'inUse'],
  ['U6', 'it is being deleted while a claim is made from it', source({ neededBy: 'a/b', ...deleted }), 'manual'],
  ['U6', 'a claim is made from it and its driver is not known', source({ neededBy: 'a/b', driver: '' }), 'inUse'],
  ['U7', 'a source of an unknown driver', source({ driver: '' }), 'manual'],
  ['U8', 'a source that no claim needs', source(), 'safe'],
  ['U8', 'a source that is being deleted', source({ source: 'claim', ...deleted }), 'safe'],
  ['U9', 'policy Retain', volume({ policy: 'Retain' }), 'safe'],
  ['U9', 'policy Retain, released, its node gone', volume({ policy: 'Retain', phase: 'Released', ...noNode }), 'safe'],
  ['U9', 'policy Recycle', volume({ policy: 'Recycle' }), 'safe'],
  ['U10', 'policy Retain, being deleted', volume({ policy: 'Retain', ...deleted }), 'unsettled h-1'],
  ['U11', 'policy Delete, released', volume({ phase: 'Released' }), 'manual h-1'],
  ['U11', 'policy Delete, failed', volume({ phase: 'Failed', ...noNode }), 'manual h-1'],
  ['U11', 'policy Delete, being deleted', volume(deleted), 'manual h-1'],
  ['U12', 'policy Delete, bound', volume(), 'inUse'],
  ['U12', 'policy Delete, bound, its node gone', volume(noNode), 'inUse'],
  ['U13', 'capacity of another program', capacity({ instance: 'foreign' }), 'inUse'],
  ['U13', 'capacity with an owner', capacity({ owner: 'some' }), 'inUse'],
  ['U13', 'capacity of an installed driver', capacity({ installed: 'yes' }), 'inUse'],
  ['U14', 'capacity of a driver that no node has', capacity(), 'safe'],
  ['U14', 'capacity of a gone instance', capacity({ instance: 'ofGoneNode', owner: 'some', installed: 'yes' }), 'safe'],
];

it.each(table.map(([row, given, subject, next]) => ({ row, given, subject, next })))(
  '[$row] given $given, then $next',
  (line) => {
    const { row, verdict, volume: name } = decide(line.subject);
    expect([row, [verdict, name].filter(Boolean).join(' ')]).toEqual([line.row, line.next]);
  },
);

it.each([
  [
    volume({ policy: 'Retain', ...noNode }),
    'policy Retain keeps the volume without the finalizer; no node can reach it',
  ],
  [volume({ phase: 'Released', ...noNode }), 'delete it in the storage system, then set the policy to Retain'],
  [source({ driver: '' }), 'its driver is not known: remove the finalizer by hand'],
  [volume(), 'a provisioner deletes the volume when its claim is gone'],
  [capacity({ instance: 'foreign' }), 'another program manages it'],
  [capacity({ owner: 'some' }), 'it goes with its owner'],
  [capacity({ installed: 'yes' }), 'the driver is still installed'],
  [claim({ node: gone }), 'node n1, whose instance settles the claim, is gone; volume pvc-1 may exist'],
])('given what must stay, or a node that is gone, then the reason says why or what to do about it', (subject, text) => {
  expect(decide(subject).reason).toContain(text);
});
