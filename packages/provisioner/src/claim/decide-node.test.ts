// SPDX-License-Identifier: Apache-2.0
/** One line per row of node deployment. */
import { describe, expect, it } from 'vitest';
import { aClass, aNodeDeployment, aVolume, type ClaimFacts, driverName, someSettings } from '../../testing/builders.ts';
import {
  announced,
  context as central,
  final,
  full,
  late,
  made,
  plan,
  planned,
  show,
  state,
  type StateFacts,
} from '../../testing/claim-states.ts';
import { decide } from './decide.ts';
import { waitsForBinding } from './decide-node.ts';
import type { ClaimContext, Row } from './state.ts';

const node = aNodeDeployment('n1');
const context: ClaimContext = { ...central, settings: someSettings({ node }) };
const passive: ClaimContext = { ...central, settings: someSettings({ node: { ...node, bindsImmediately: false } }) };
const waited: StateFacts = { waitMs: 0 };
const sized: StateFacts = {
  ...waited,
  planned: { kind: 'planned', plan: { ...plan, request: { ...plan.request, parameters: { a: 'b' } } } },
};
const unsized: StateFacts = { ...waited, planned: { kind: 'planned', plan: { ...plan, requiredBytes: 0n } } };
const dying: ClaimFacts = { deleting: 'yes' };
const always: ClaimContext = { ...context, settings: { ...context.settings, provisioningProtection: 'always' } };
const hourMs = 3_600_000;
const there: StateFacts = {
  otherInstance: 'n2',
  otherNode: { presence: 'there', goneForMs: 0, waitedForMs: hourMs - 1 },
};
const silent: StateFacts = { ...there, otherNode: { presence: 'there', goneForMs: 0, waitedForMs: hourMs } };
const unreadable: StateFacts = { ...there, otherNode: { presence: 'unknown', goneForMs: 0, waitedForMs: 0 } };
const goneFor = (goneForMs: number): StateFacts => ({
  otherInstance: 'n2',
  otherNode: { presence: 'gone', goneForMs, waitedForMs: 9e9 },
});
const elsewhere: StateFacts = {
  record: 'read',
  volume: {
    kind: 'elsewhere',
    record: { metadata: { name: 'pvc-uid-data' }, spec: { csi: { driver: driverName, volumeHandle: 'v2' } } },
  },
};
const sameId: StateFacts = {
  record: 'read',
  volume: {
    kind: 'elsewhere',
    record: { metadata: { name: 'pvc-uid-data' }, spec: { csi: { driver: driverName, volumeHandle: 'v1' } } },
  },
};
const finalizer = `provisioning-protection.provisioner.storage.kubernetes.io/${driverName}`;
const waiting = `Warning: waiting for the instance of node n2 to find out whether it created volume pvc-uid-data; to give that volume up, remove finalizer ${finalizer}`;
const kept = (why: string): string =>
  `requeueAfter 300000, Warning: ${why}, and volume pvc-uid-data of CSI driver ${driverName} may exist; --provisioning-protection=always keeps the claim: to give that volume up, use csi-sidecars leftovers, or remove finalizer ${finalizer}`;
const released = (why: string): string =>
  `done, Warning: volume pvc-uid-data of CSI driver ${driverName} may exist: ${why}, so the claim was released; delete the volume in the storage system if it is there, failure, given up`;
const boundElsewhere: ClaimFacts = { spec: { volumeName: 'pv' } };
const populated: StateFacts = { dataSource: { kind: 'populator' } };

const losing = (onNode?: string): StateFacts => {
  const matchExpressions = [{ key: 'node', operator: 'In', values: [onNode ?? ''] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  const spec = onNode === undefined ? {} : { nodeAffinity };
  return { volume: { kind: 'losing', record: aVolume({ deleting: 'yes', phase: 'Available', spec }) } };
};

interface Case {
  readonly row: Row;
  readonly given: string;
  readonly facts: StateFacts;
  readonly claim?: ClaimFacts;
  readonly of?: ClaimContext;
  readonly next: string;
}

const rows: readonly Case[] = [
  { row: 'C13', given: 'this node is selected', facts: {}, claim: { node: 'n1' }, next: 'announce' },
  {
    row: 'C22',
    given: 'this node is selected, immediate binding is off',
    facts: announced,
    claim: { node: 'n1' },
    of: passive,
    next: 'createVolume, first',
  },
  { row: 'C51', given: 'another node is selected', facts: {}, claim: { node: 'n2' }, next: 'done' },
  { row: 'C9', given: 'late binding, no node', facts: { storageClass: late }, next: 'done' },
  { row: 'C8', given: 'no node, no class', facts: { storageClass: undefined }, next: 'retry, failure' },
  { row: 'C52', given: 'immediate binding is off', facts: {}, of: passive, next: 'done' },
  {
    row: 'C52',
    given: 'a class without a binding mode',
    facts: { storageClass: aClass({ volumeBindingMode: undefined as never }) },
    next: 'done',
  },
  {
    row: 'C52',
    given: 'a class of another provisioner',
    facts: { storageClass: aClass({ provisioner: 'x' }) },
    next: 'done',
  },
  { row: 'C52', given: 'topologies that exclude this node', facts: { isAllowedHere: () => false }, next: 'done' },
  { row: 'C52', given: 'a source for a populator', facts: populated, next: 'done' },
  { row: 'C52', given: 'it is being deleted', facts: {}, claim: dying, next: 'done' },
  { row: 'C53', given: 'no wait has begun', facts: {}, next: 'startWait' },
  { row: 'C53', given: 'the wait goes on', facts: { waitMs: 700 }, next: 'requeueAfter 700' },
  { row: 'C54', given: 'the wait is over', facts: sized, next: 'checkSpace' },
  { row: 'C55', given: 'too little space', facts: { ...sized, space: 'short' }, next: 'done' },
  { row: 'C56', given: 'enough space', facts: { ...sized, space: 'enough' }, next: 'selectNode n1' },
  { row: 'C56', given: 'unknown space', facts: { ...sized, space: { failure: 'no' } }, next: 'selectNode n1' },
  { row: 'C56', given: 'nothing to ask for', facts: unsized, next: 'selectNode n1' },
  {
    row: 'C56',
    given: 'a request that cannot be planned',
    facts: { ...waited, planned: { kind: 'refused', message: 'no' } },
    next: 'selectNode n1',
  },
  { row: 'C56', given: 'the node is selected', facts: { ...sized, selecting: 'done' }, next: 'done' },
  { row: 'C56', given: 'the claim is gone', facts: { ...sized, selecting: 'gone' }, next: 'done' },
  { row: 'C53', given: 'another instance was faster', facts: { selecting: 'conflict' }, next: 'requeueAfter 50' },
  {
    row: 'C56',
    given: 'the write failed',
    facts: { ...sized, selecting: { failure: 'forbidden' } },
    next: 'retry, Warning: node check failed: PVC team/data: selecting node "n1" for PVC failed: forbidden, failure',
  },
  {
    row: 'C47',
    given: 'of another instance, whose node is selected',
    facts: { otherInstance: 'n2' },
    claim: { node: 'n2' },
    next: 'done',
  },
  {
    row: 'C47',
    given: 'of another instance, bound',
    facts: { otherInstance: 'n2' },
    claim: boundElsewhere,
    next: 'done',
  },
  {
    row: 'C48',
    given: 'of another instance, this node is selected',
    facts: { otherInstance: 'n2' },
    claim: { node: 'n1' },
    next: 'readNode n2',
  },
  {
    row: 'C48',
    given: 'of another instance, no node is selected',
    facts: { otherInstance: 'n2' },
    next: 'readNode n2',
  },
  { row: 'C53', given: 'of an unknown instance, live', facts: { otherInstance: '' }, next: 'startWait' },
  {
    row: 'C47',
    given: 'of another instance, deleted a moment ago',
    facts: { otherInstance: 'n2', deletedForMs: 1000 },
    claim: dying,
    next: 'requeueAfter 59000',
  },
  {
    row: 'C47',
    given: 'of an unknown instance, deleted a moment ago',
    facts: { otherInstance: '', deletedForMs: 1000 },
    claim: dying,
    next: 'requeueAfter 299000',
  },
  {
    row: 'C48',
    given: 'of another instance, deleted for a minute',
    facts: { otherInstance: 'n2', deletedForMs: 60_000 },
    claim: dying,
    next: 'readNode n2',
  },
  {
    row: 'C57',
    given: 'its node is gone, live',
    facts: goneFor(0),
    claim: { node: 'n1' },
    next: 'requeueAfter 60000',
  },
  {
    row: 'C57',
    given: 'its node is gone, with --provisioning-protection=always',
    facts: goneFor(299_999),
    of: always,
    next: 'requeueAfter 1',
  },
  {
    row: 'C57',
    given: 'its node is gone for less than five minutes, deleted for a day',
    facts: { ...goneFor(299_000), deletedForMs: 86_400_000 },
    claim: dying,
    next: 'requeueAfter 1000',
  },
  {
    row: 'C49',
    given: 'its node is there, deleted for less than five minutes',
    facts: { ...there, deletedForMs: 299_999 },
    claim: dying,
    next: 'requeueAfter 300000',
  },
  {
    row: 'C49',
    given: 'its node is there, deleted for five minutes',
    facts: { ...there, deletedForMs: 300_000 },
    claim: dying,
    next: `requeueAfter 300000, ${waiting}`,
  },
  {
    row: 'C49',
    given: 'its node cannot be read',
    facts: { ...unreadable, deletedForMs: 300_000 },
    claim: dying,
    next: `requeueAfter 300000, ${waiting}`,
  },
  {
    row: 'C49',
    given: 'its node is there, this node is selected',
    facts: there,
    claim: { node: 'n1' },
    next: `requeueAfter 300000, ${waiting}`,
  },
  {
    row: 'C49',
    given: 'its node is there, no node is selected',
    facts: there,
    next: `requeueAfter 300000, ${waiting}`,
  },
  {
    row: 'C49',
    given: 'its node is there, deleted and waited for an hour, with --provisioning-protection=always',
    facts: { ...silent, deletedForMs: 86_400_000 },
    claim: dying,
    of: always,
    next: `requeueAfter 300000, ${waiting}`,
  },
  {
    row: 'C50',
    given: 'its node is there, deleted and waited for an hour',
    facts: { ...silent, deletedForMs: hourMs },
    claim: dying,
    next: 'giveUpOther',
  },
  {
    row: 'C50',
    given: 'its node is gone for five minutes, deleted',
    facts: { ...goneFor(300_000), deletedForMs: 300_000 },
    claim: dying,
    next: 'giveUpOther',
  },
  {
    row: 'C50',
    given: 'its node is gone for five minutes, live',
    facts: goneFor(300_000),
    claim: { node: 'n1' },
    next: 'giveUpOther',
  },
  {
    row: 'C50',
    given: 'of an unknown instance, deleted long ago',
    facts: { otherInstance: '', deletedForMs: 300_000 },
    claim: dying,
    next: 'giveUpOther',
  },
  {
    row: 'C58',
    given: 'its node is gone for five minutes, with --provisioning-protection=always',
    facts: goneFor(300_000),
    claim: { node: 'n1' },
    of: always,
    next: kept('node n2, whose instance worked on the claim, is gone'),
  },
  {
    row: 'C58',
    given: 'of an unknown instance, deleted long ago, with --provisioning-protection=always',
    facts: { otherInstance: '', deletedForMs: 300_000 },
    claim: dying,
    of: always,
    next: kept('no instance works on the claim'),
  },
  {
    row: 'C50',
    given: 'its node is gone and its finalizer is removed',
    facts: { ...goneFor(300_000), givingUp: 'done' },
    claim: dying,
    next: released('node n2, whose instance worked on the claim, is gone'),
  },
  {
    row: 'C50',
    given: 'its node is there and its finalizer is removed',
    facts: { ...silent, givingUp: 'done' },
    claim: dying,
    next: released('the instance of node n2 did not settle the claim within an hour'),
  },
  {
    row: 'C38',
    given: 'its finalizer cannot be removed',
    facts: { ...goneFor(300_000), givingUp: 'failed' },
    claim: dying,
    next: 'retry, again in 10000',
  },
  {
    row: 'C59',
    given: 'a pinned request',
    facts: { remembers: 'pinned' },
    claim: { node: 'n1' },
    next: 'readRecord pvc-uid-data',
  },
  {
    row: 'C59',
    given: 'a pinned request of a claim that is gone',
    facts: { remembers: 'pinned', presence: 'gone' },
    next: 'readRecord pvc-uid-data',
  },
  {
    row: 'C59',
    given: 'nothing is remembered, the claim has the finalizer of this instance and is bound',
    facts: {},
    claim: { protection: 'on', spec: { volumeName: 'pvc-uid-data' } },
    next: 'readRecord pvc-uid-data',
  },
  {
    row: 'C59',
    given: 'its PersistentVolume cannot be read',
    facts: { remembers: 'pinned', record: { failure: 'down' } },
    claim: { node: 'n1' },
    next: 'retry, Warning: cannot read PersistentVolume pvc-uid-data before CreateVolume is repeated: down, failure',
  },
  {
    row: 'C22',
    given: 'nothing is remembered, the claim is bound to the volume of another node',
    facts: { ...elsewhere, ...announced },
    claim: { protection: 'on', spec: { volumeName: 'pvc-uid-data' } },
    next: 'createVolume',
  },
  {
    row: 'C10',
    given: 'this run has put the finalizer on, and a volume of another node is recorded',
    facts: { ...elsewhere, ...announced, protecting: 'done' },
    claim: { node: 'n1', protection: 'on' },
    next: 'settle',
  },
  {
    row: 'C22',
    given: 'a pinned request, live without the finalizer, a volume of another node is recorded',
    facts: { ...elsewhere, ...announced, remembers: 'pinned' },
    claim: { node: 'n2' },
    next: 'createVolume',
  },
  {
    row: 'C60',
    given: 'made, a volume of another node is recorded (O12)',
    facts: { ...elsewhere, remembers: 'pinned', created: made },
    claim: { node: 'n2' },
    next: 'cleanUp',
  },
  {
    row: 'C29',
    given: 'such a volume, deleted',
    facts: { ...elsewhere, created: made, cleanedUp: 'yes' },
    claim: { node: 'n2' },
    next: 'done, failure',
  },
  {
    row: 'C30',
    given: 'such a volume, not deleted',
    facts: { ...elsewhere, remembers: 'pinned', created: made, cleanedUp: { failure: 'down', isOpen: true } },
    claim: { node: 'n2' },
    next: 'retry, Warning: PersistentVolume pvc-uid-data records a volume of another node for the claim, so volume v1 of this node is not used. cleanup of volume pvc-uid-data failed, volume is orphaned: down, failure',
  },
  {
    row: 'C61',
    given: 'made with the id that is recorded, settled',
    facts: { ...sameId, created: made },
    claim: { node: 'n2' },
    next: 'done, Warning: volume v1 may exist twice: PersistentVolume pvc-uid-data records a volume of this id on another node, and this node has one as well; delete the one of this node in the storage system if it is another one, failure, given up',
  },
  {
    row: 'C23',
    given: 'final, a volume of another node is recorded',
    facts: { ...elsewhere, created: final },
    claim: { node: 'n2' },
    next: 'done, failure',
  },
  {
    row: 'C26',
    given: 'this node is full and selected, a volume of another node is recorded',
    facts: { ...elsewhere, created: full },
    claim: { node: 'n1' },
    next: 'done, failure',
  },
  {
    row: 'C25',
    given: 'this node is full and selected',
    facts: { created: full },
    claim: { node: 'n1' },
    next: 'reschedule, remove finalizer',
  },
  {
    row: 'C26',
    given: 'this node is full, another one is selected meanwhile',
    facts: { created: full },
    claim: { node: 'n2' },
    next: 'retry, Warning: full, failure',
  },
  {
    row: 'C47',
    given: 'another instance was faster with its finalizer',
    facts: { ...announced, protecting: 'done', record: 'read' },
    claim: { node: 'n2', protection: 'on' },
    next: 'done',
  },
  {
    row: 'C22',
    given: 'a call of its own is open, another node is selected',
    facts: { ...announced, remembers: 'open', protecting: 'done', record: 'read' },
    claim: { node: 'n2', protection: 'on' },
    next: 'createVolume',
  },
];

describe('the claim table in node deployment', () => {
  it.each(rows)('$row: given $given, when decided, then $next', ({ row, facts, claim = {}, of = context, next }) => {
    const action = decide(state(facts, claim), of);
    expect([action.row, show(action)]).toEqual([row, next]);
  });

  it('given a request, when the space is asked for, then with its parameters and capabilities, once for each place', () => {
    const places = [{ segments: { node: 'n1' } }, { segments: { node: 'n1', rack: 'r' } }];
    const request = {
      ...plan.request,
      parameters: { a: 'b' },
      volume_capabilities: [],
      accessibility_requirements: { requisite: places, preferred: [] },
    };
    const facts = { ...waited, planned: { kind: 'planned', plan: { ...plan, request } } } as const;
    expect(decide(state(facts), context)).toMatchObject({
      bytes: 100n,
      requests: places.map((place) => ({
        parameters: { a: 'b' },
        volume_capabilities: [],
        accessible_topology: place,
      })),
    });
    expect(decide(state(sized), context)).toMatchObject({ requests: [{ parameters: { a: 'b' } }] });
  });

  it('[provisioner#P11] given a claim that this instance has to settle, when another node is selected, then only the outcome is wanted', () => {
    const purposes: string[] = [];
    const given: StateFacts = {
      ...announced,
      record: 'read',
      plan: (_class, purpose) => (purposes.push(purpose), planned),
    };
    for (const node of ['n1', 'n2']) decide(state(given, { node, protection: 'on' }), context);
    expect(purposes).toEqual(['provision', 'settle']);
  });

  it('[provisioner#P15] given a claim that has the volume of another node, then only the outcome is wanted, also while this node is selected', () => {
    const purposes: string[] = [];
    const given: StateFacts = {
      ...announced,
      ...elsewhere,
      plan: (_class, purpose) => (purposes.push(purpose), planned),
    };
    decide(state(given, { node: 'n1', protection: 'on' }), context);
    expect(purposes).toEqual(['settle']);
  });

  it('given the same states without node deployment, then none of these rows', () => {
    const others = rows.filter(({ facts }) => facts.volume?.kind !== 'elsewhere');
    const found = others.map(
      ({ facts, claim = {} }) => decide(state({ ...facts, otherInstance: undefined }, claim), central).row,
    );
    expect(found.filter((row) => Number(row.slice(1)) >= 47)).toEqual([]);
  });
});

describe('states that differ from these in one part', () => {
  const foreign: ClaimFacts = { annotations: { 'volume.kubernetes.io/storage-provisioner': 'other' } };
  const oneByte: StateFacts = { ...waited, planned: { kind: 'planned', plan: { ...plan, requiredBytes: 1n } } };

  it.each<Case>([
    {
      row: 'C22',
      given: 'a call of its own is open, another node is selected, whose instance put the finalizer on',
      facts: { ...announced, remembers: 'open', protecting: 'done', otherInstance: 'n2', record: 'read' },
      claim: { node: 'n2', protection: 'on' },
      next: 'createVolume',
    },
    { row: 'C13', given: 'central deployment', facts: { otherInstance: 'n2' }, of: central, next: 'announce' },
    {
      row: 'C47',
      given: 'of another instance and driver',
      facts: { otherInstance: 'n2' },
      claim: foreign,
      next: 'done',
    },
    {
      row: 'C47',
      given: 'of another instance, deleted a millisecond too late',
      facts: { otherInstance: 'n2', deletedForMs: 59_999 },
      claim: dying,
      next: 'requeueAfter 1',
    },
    {
      row: 'C22',
      given: 'an outcome that this instance has to settle, no node is selected',
      facts: { ...announced, record: 'read' },
      claim: { protection: 'on' },
      next: 'createVolume',
    },
    { row: 'C10', given: 'its volume exists', facts: { volume: { kind: 'own' } }, next: 'done, failure' },
    { row: 'C53', given: 'a last millisecond of the wait', facts: { waitMs: 1 }, next: 'requeueAfter 1' },
    { row: 'C54', given: 'a request of one byte', facts: oneByte, next: 'checkSpace' },
  ])('$row: given $given, when decided, then $next', ({ row, facts, claim = {}, of = context, next }) => {
    const action = decide(state(facts, claim), of);
    expect([action.row, show(action)]).toEqual([row, next]);
  });

  it('given the wait is over, when the space is asked for, then a volume is wanted, and not only an outcome', () => {
    const purposes: string[] = [];
    decide(state({ ...waited, plan: (_class, purpose) => (purposes.push(purpose), planned) }), context);
    expect(purposes).toEqual(['provision']);
  });
});

describe('a volume that is recorded while another node is selected', () => {
  const kept: ClaimFacts = { node: 'n2', protection: 'on' };
  const own: StateFacts = { remembers: 'settled', volume: { kind: 'own' } };

  it.each<[string, boolean, ClaimFacts]>([
    ['with our finalizer', true, kept],
    ['without our finalizer', false, { node: 'n2' }],
    ['that is being deleted', false, { ...kept, deleting: 'yes' }],
    ['of this node', false, { ...kept, node: 'n1' }],
    ['that is bound', false, { ...kept, spec: { volumeName: 'pv' } }],
  ])('given a claim %s, then its finalizer waits for the binding: %s', (_what, is, claim) => {
    expect(waitsForBinding(state({}, claim), context)).toBe(is);
  });

  it.each<Case>([
    { row: 'C3', given: 'settled and recorded', facts: own, claim: kept, next: 'done' },
    {
      row: 'C3',
      given: 'settled without a volume',
      facts: { remembers: 'settled' },
      claim: kept,
      next: 'unprotect',
    },
    {
      row: 'C10',
      given: 'recorded while its request is remembered',
      facts: { ...own, remembers: 'pinned' },
      claim: kept,
      next: 'settle',
    },
    { row: 'C3', given: 'settled for this node', facts: own, claim: { ...kept, node: 'n1' }, next: 'unprotect' },
    {
      row: 'C49',
      given: 'deleted, and this node is selected',
      facts: { ...there, deletedForMs: 300_000 },
      claim: { ...dying, node: 'n1' },
      next: `requeueAfter 300000, ${waiting}`,
    },
    {
      row: 'C63',
      given: 'live, with another node selected, and its record on this node is being deleted',
      facts: losing('n1'),
      claim: { node: 'n2' },
      next: 'releaseRequest',
    },
    {
      row: 'C51',
      given: 'live, with another node selected, and its record on another node is being deleted',
      facts: losing('n2'),
      claim: { node: 'n2' },
      next: 'done',
    },
    {
      row: 'C51',
      given: 'live, with another node selected, and its record that all nodes see is being deleted',
      facts: losing(),
      claim: { node: 'n2' },
      next: 'done',
    },
    {
      row: 'C63',
      given: 'of another instance, and its record on this node is being deleted',
      facts: { ...losing('n1'), otherInstance: 'n2' },
      claim: { node: 'n2' },
      next: 'releaseRequest',
    },
    {
      row: 'C47',
      given: 'of another instance, and its record that all nodes see is being deleted',
      facts: { ...losing(), otherInstance: 'n2' },
      claim: { node: 'n2' },
      next: 'done',
    },
  ])('$row: given a claim that is $given, when decided, then $next', ({ row, facts, claim = {}, next }) => {
    const action = decide(state(facts, claim), context);
    expect([action.row, show(action)]).toEqual([row, next]);
  });
});
