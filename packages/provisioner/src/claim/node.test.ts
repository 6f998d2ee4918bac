// SPDX-License-Identifier: Apache-2.0
/** The rows of node deployment: which instance works on a claim, and what follows from a volume of another node. */
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aNodeDeployment, aVolume, driverName, someSettings } from '../../testing/builders.ts';
import {
  ambiguous,
  answers,
  context as central,
  final,
  foreign,
  full,
  late,
  made,
  pinned,
  plan,
  planned,
  protection,
  settling,
  state,
  type StateFacts,
  walkClaim,
  type WalkOfClaim,
} from '../../testing/claim-states.ts';
import { annotations, instanceAnnotation } from '../names.ts';
import { waitsForBinding } from './known.ts';
import type { ClaimContext } from './state.ts';

const node = aNodeDeployment('n1');
const context: ClaimContext = { ...central, settings: someSettings({ node }) };
const passive: ClaimContext = { ...central, settings: someSettings({ node: { ...node, bindsImmediately: false } }) };
const always: ClaimContext = { ...context, settings: { ...context.settings, provisioningProtection: 'always' } };
const hourMs = 3_600_000;
const dying = { deleting: 'yes' } as const;
const here = { node: 'n1' };
const other = { node: 'n2' };
const ofOther: StateFacts = { otherInstance: 'n2' };
const ofUnknown: StateFacts = { otherInstance: '' };
const waited: StateFacts = { waitMs: 0 };
const sized = (changes: object): StateFacts => ({
  ...waited,
  plan: () => ({ kind: 'planned', plan: { ...plan, ...changes } }),
});
const looks = (presence: string, goneForMs = 0, waitedForMs = 0): WalkOfClaim['says'] => ({
  readNode: { presence, goneForMs, waitedForMs },
});
const says = { createVolume: answers(final) };
const refused = 'C23 retry, Warning: no, failure';
const asked = { [annotations.storageProvisioner]: driverName, [annotations.selectedNode]: 'n1' };
const finalizer = `provisioning-protection.provisioner.storage.kubernetes.io/${driverName}`;
const waiting = `Warning: waiting for the instance of node n2 to find out whether it created volume pvc-uid-data; to give that volume up, remove finalizer ${finalizer}`;
const keptAs = (why: string): string =>
  `requeueAfter 300000, Warning: ${why}, and volume pvc-uid-data of CSI driver ${driverName} may exist; --provisioning-protection=always keeps the claim: to give that volume up, use csi-sidecars leftovers, or remove finalizer ${finalizer}`;
const released = (why: string): string =>
  `C50 giveUpOther, C50 done, Warning: volume pvc-uid-data of CSI driver ${driverName} may exist: ${why}, so the claim was released; delete the volume in the storage system if it is there, failure, given up`;
const goneNode = 'node n2, whose instance worked on the claim, is gone';
const noInstance = 'no instance works on the claim';

const losing = (onNode?: string): StateFacts => {
  const matchExpressions = [{ key: 'node', operator: 'In', values: [onNode ?? ''] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  const spec = onNode === undefined ? {} : { nodeAffinity };
  return { volume: { kind: 'losing', record: aVolume({ deleting: 'yes', phase: 'Available', spec }) } };
};
const recordOf = (volumeHandle: string): StateFacts => ({
  volume: {
    kind: 'elsewhere',
    record: { metadata: { name: 'pvc-uid-data' }, spec: { csi: { driver: driverName, volumeHandle } } },
  },
});
const elsewhere = recordOf('v2');

const theirs = aClaim({ ...here, protection: 'on', annotations: { ...asked, [instanceAnnotation(driverName)]: 'n2' } });

type Case = readonly [given: string, walk: WalkOfClaim, text: string];

const selection: readonly Case[] = [
  [
    'of this node',
    { claim: here, says },
    `C13 announce, C22 lookAgain, C22 createVolume first, C23 settle, ${refused}`,
  ],
  [
    'of this node, immediate binding is off',
    { claim: here, says, of: passive },
    `C13 announce, C22 lookAgain, C22 createVolume first, C23 settle, ${refused}`,
  ],
  ['of this node, recorded', { facts: { volume: { kind: 'own' } } }, 'C10 done, failure'],
  ['of another node', { claim: other }, 'C51 done'],
  [
    'of another node by now',
    { claim: here, says: { lookAgain: { claim: state({}, other).claim } } },
    'C13 announce, C22 lookAgain, C51 done',
  ],
  ['without a node, bound late', { facts: { storageClass: late } }, 'C9 done'],
  ['without a node and without its class', { facts: { storageClass: undefined } }, 'C8 retry, failure'],
  ['without a node, immediate binding is off', { of: passive }, 'C52 done'],
  [
    'whose class has no binding mode',
    { facts: { storageClass: aClass({ volumeBindingMode: undefined as never }) } },
    'C52 done',
  ],
  ['whose class is of another provisioner', { facts: { storageClass: aClass({ provisioner: 'x' }) } }, 'C52 done'],
  ['whose class excludes this node', { facts: { isAllowedHere: () => false } }, 'C52 done'],
  ['for a populator', { facts: { dataSource: { kind: 'populator' } } }, 'C52 done'],
  ['deleted', { claim: dying }, 'C52 done'],
  ['that has not waited', { says: { startWait: 700 } }, 'C53 startWait, C53 requeueAfter 700'],
  ['that waits for a last millisecond', { facts: { waitMs: 1 } }, 'C53 requeueAfter 1'],
  ['without enough space', { facts: sized({}), says: { checkSpace: 'short' } }, 'C54 checkSpace, C55 done'],
  ['of one byte', { facts: sized({ requiredBytes: 1n }), says: { checkSpace: 'short' } }, 'C54 checkSpace, C55 done'],
  [
    'with enough space',
    { facts: sized({}), says: { checkSpace: 'enough', selectNode: 'done' } },
    'C54 checkSpace, C56 selectNode n1, C56 done',
  ],
  [
    'with unknown space',
    { facts: sized({}), says: { checkSpace: 'unknown', selectNode: 'done' } },
    'C54 checkSpace, C56 selectNode n1, C56 done',
  ],
  [
    'without a size',
    { facts: sized({ requiredBytes: 0n }), says: { selectNode: 'done' } },
    'C56 selectNode n1, C56 done',
  ],
  [
    'that cannot be planned',
    { facts: { ...waited, plan: () => ({ kind: 'refused', message: 'no' }) }, says: { selectNode: 'done' } },
    'C56 selectNode n1, C56 done',
  ],
  [
    'that another instance takes',
    { facts: sized({ requiredBytes: 0n }), says: { selectNode: 'conflict' } },
    'C56 selectNode n1, C53 requeueAfter 50',
  ],
  [
    'that cannot be taken',
    { facts: sized({ requiredBytes: 0n }), says: { selectNode: new Error('forbidden') } },
    'C56 selectNode n1, C56 retry, Warning: node check failed: PVC team/data: selecting node "n1" for PVC failed: forbidden, failure',
  ],
];

const ofOthers: readonly Case[] = [
  ['whose node is selected', { facts: ofOther, claim: other }, 'C47 done'],
  ['bound', { facts: ofOther, claim: { spec: { volumeName: 'pv' } } }, 'C47 done'],
  ['not ours', { facts: ofOther, claim: { annotations: foreign } }, 'C47 done'],
  ['unknown, live', { facts: ofUnknown, says: { startWait: 700 } }, 'C53 startWait, C53 requeueAfter 700'],
  ['deleted a moment ago', { facts: { ...ofOther, deletedForMs: 59_999 }, claim: dying }, 'C47 requeueAfter 1'],
  [
    'unknown, deleted a moment ago',
    { facts: { ...ofUnknown, deletedForMs: 1000 }, claim: dying },
    'C47 requeueAfter 299000',
  ],
  [
    'deleted for a minute, its node is gone',
    { facts: { ...ofOther, deletedForMs: 60_000 }, claim: dying, says: looks('gone') },
    'C48 readNode n2, C57 requeueAfter 60000',
  ],
  [
    'live, its node is gone',
    { facts: ofOther, claim: here, says: looks('gone') },
    'C48 readNode n2, C57 requeueAfter 60000',
  ],
  [
    'its node is gone, with always',
    { facts: ofOther, says: looks('gone', 299_999), of: always },
    'C48 readNode n2, C57 requeueAfter 1',
  ],
  [
    'deleted for a day, its node is gone for less than five minutes',
    { facts: { ...ofOther, deletedForMs: 86_400_000 }, claim: dying, says: looks('gone', 299_000, 9e9) },
    'C48 readNode n2, C57 requeueAfter 1000',
  ],
  [
    'deleted for less than five minutes, its node is there',
    { facts: { ...ofOther, deletedForMs: 299_999 }, claim: dying, says: looks('there') },
    'C48 readNode n2, C49 requeueAfter 300000',
  ],
  [
    'deleted for five minutes, its node is there',
    { facts: { ...ofOther, deletedForMs: 300_000 }, claim: { ...dying, ...here }, says: looks('there', 0, hourMs - 1) },
    `C48 readNode n2, C49 requeueAfter 300000, ${waiting}`,
  ],
  [
    'deleted for five minutes, its node cannot be read',
    { facts: { ...ofOther, deletedForMs: 300_000 }, claim: dying, says: looks('unknown') },
    `C48 readNode n2, C49 requeueAfter 300000, ${waiting}`,
  ],
  [
    'live, its node is there',
    { facts: ofOther, says: looks('there') },
    `C48 readNode n2, C49 requeueAfter 300000, ${waiting}`,
  ],
  [
    'deleted and silent for an hour, with always',
    { facts: { ...ofOther, deletedForMs: hourMs }, claim: dying, says: looks('there', 0, hourMs), of: always },
    `C48 readNode n2, C49 requeueAfter 300000, ${waiting}`,
  ],
  [
    'deleted and silent for an hour',
    { facts: { ...ofOther, deletedForMs: hourMs }, claim: dying, says: looks('there', 0, hourMs) },
    `C48 readNode n2, ${released('the instance of node n2 did not settle the claim within an hour')}`,
  ],
  [
    'live, its node is gone for five minutes',
    { facts: ofOther, claim: here, says: looks('gone', 300_000) },
    `C48 readNode n2, ${released(goneNode)}`,
  ],
  ['unknown, deleted long ago', { facts: { ...ofUnknown, deletedForMs: 300_000 }, claim: dying }, released(noInstance)],
  [
    'its node is gone for five minutes, with always',
    { facts: ofOther, claim: here, says: looks('gone', 300_000), of: always },
    `C48 readNode n2, C58 ${keptAs(goneNode)}`,
  ],
  [
    'unknown, deleted long ago, with always',
    { facts: { ...ofUnknown, deletedForMs: 300_000 }, claim: dying, of: always },
    `C58 ${keptAs(noInstance)}`,
  ],
  [
    'unknown, deleted long ago, and the finalizer stays',
    { facts: { ...ofUnknown, deletedForMs: 300_000 }, claim: dying, says: { giveUpOther: { write: 'failed' } } },
    'C50 giveUpOther, C38 retry, again in 10000',
  ],
];

const outstanding: readonly Case[] = [
  [
    'with a pinned request',
    { facts: { pinned }, claim: here, says },
    `C59 readRecord, C13 announce, C21 protect, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'with a pinned request, and another instance has put the finalizer on',
    { facts: { pinned, ...ofOther }, claim: other, says: { ...says, protect: { protecting: 'refused' } } },
    `C59 readRecord, C13 announce, C21 protect, C22 createVolume, C23 settle, ${refused}`,
  ],
  [
    'with the finalizer of this instance, and no name for a volume',
    { facts: { volumeName: '' }, claim: { ...here, ...protection }, says },
    `C13 announce, C22 lookAgain, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'released, gone for minutes after two answers, and its record cannot be read',
    {
      facts: { remembers: 'open', presence: 'gone', answers: ['open', 'open'], deletedForMs: 300_000 },
      says: { readRecord: new Error('down') },
    },
    'C59 readRecord, C59 retry, failure',
  ],
  [
    'with a pinned request, gone',
    { facts: { pinned, presence: 'gone' }, says },
    'C59 readRecord, C22 createVolume, C23 settle, C23 done, failure',
  ],
  [
    'whose record cannot be read',
    { facts: { pinned }, claim: here, says: { readRecord: new Error('down') } },
    'C59 readRecord, C59 retry, Warning: cannot read PersistentVolume pvc-uid-data before CreateVolume is repeated: down, failure',
  ],
  [
    'with a pinned request, and its record is found',
    { facts: { pinned }, claim: here, says: { readRecord: { volume: { kind: 'own' } } } },
    'C59 readRecord, C10 settle, C10 done, failure',
  ],
  [
    'with the finalizer of this instance, no node is selected',
    { claim: protection, says },
    `C59 readRecord, C13 announce, C22 lookAgain, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'with the finalizer of this instance, bound to a volume of another node',
    { claim: { ...protection, spec: { volumeName: 'pvc-uid-data' } }, says: { ...says, readRecord: elsewhere } },
    'C59 readRecord, C13 announce, C22 lookAgain, C22 createVolume, C23 settle, C23 unprotect, C23 done, failure',
  ],
  [
    'with the finalizer of this run, and a volume of another node is recorded',
    { claim: here, says: { readRecord: elsewhere }, of: always },
    'C13 announce, C36 protect, C22 lookAgain, C59 readRecord, C10 settle, C10 unprotect, C10 done, failure',
  ],
  [
    'with a pinned request, and a volume of another node is recorded',
    { facts: { pinned }, claim: other, says: { ...says, readRecord: elsewhere } },
    'C59 readRecord, C13 announce, C22 createVolume, C23 settle, C23 done, failure',
  ],
  [
    'whose call of this process is open, and another instance has put the finalizer on',
    { facts: { remembers: 'open', ...ofOther }, claim: { ...other, ...protection }, says },
    `C59 readRecord, C13 announce, C22 lookAgain, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'until another instance is faster with its finalizer',
    { claim: here, says: { protect: { protecting: 'done', isProtected: false, claim: theirs } }, of: always },
    'C13 announce, C36 protect, C22 lookAgain, C47 done',
  ],
];

const recorded: readonly Case[] = [
  [
    'settled and recorded',
    { facts: { remembers: 'settled', volume: { kind: 'own' } }, claim: { ...other, ...protection } },
    'C3 done',
  ],
  [
    'settled without a record',
    { facts: { remembers: 'settled' }, claim: { ...other, ...protection } },
    'C3 unprotect, C51 done',
  ],
  [
    'recorded while its request is remembered',
    { facts: { pinned, volume: { kind: 'own' } }, claim: { ...other, ...protection } },
    'C10 settle, C10 done',
  ],
  [
    'of this node, settled and recorded',
    { facts: { remembers: 'settled', volume: { kind: 'own' } }, claim: { ...here, ...protection } },
    'C3 unprotect, C10 done, failure',
  ],
  [
    'losing its record on this node',
    { facts: losing('n1'), claim: other },
    'C63 releaseRequest, C63 protect, C63 retry',
  ],
  ['losing its record on another node', { facts: losing('n2'), claim: other }, 'C51 done'],
  ['losing its record that all nodes see', { facts: losing(), claim: other }, 'C51 done'],
  [
    'of another instance, losing its record on this node',
    { facts: { ...losing('n1'), ...ofOther }, claim: other },
    'C63 releaseRequest, C63 protect, C63 retry',
  ],
  [
    'of another instance, losing its record that all nodes see',
    { facts: { ...losing(), ...ofOther }, claim: other },
    'C47 done',
  ],
];

describe('the claim table in node deployment', () => {
  const walked = async ({ of = context, ...walk }: WalkOfClaim): Promise<string> =>
    (await walkClaim({ ...walk, of })).text;
  const titled = (cases: readonly Case[]) => cases.map(([given, walk, text]) => [given, text, walk] as const);

  it.each(titled(selection))('given a claim without an instance: %s, then %s', async (_given, text, walk) => {
    expect(await walked(walk)).toBe(text);
  });

  it.each(titled(ofOthers))('given a claim of another instance: %s, then %s', async (_given, text, walk) => {
    expect(await walked(walk)).toBe(text);
  });

  it.each(titled(outstanding))('given a claim that this instance settles: %s, then %s', async (_given, text, walk) => {
    expect(await walked(walk)).toBe(text);
  });

  it.each(titled(recorded))('given another node is selected for a claim: %s, then %s', async (_given, text, walk) => {
    expect((await walked(walk)).replace(/, Warning: PersistentVolume .*$/, '')).toBe(text);
  });

  it('given central deployment, then other instances and other nodes are nothing to it', async () => {
    const text = `C13 announce, C22 lookAgain, C22 createVolume first, C23 settle, ${refused}`;
    expect(await walked({ facts: ofOther, claim: other, says, of: central })).toBe(text);
  });
});

describe('a volume of this node beside one of another node (O12)', () => {
  const end = async (says: WalkOfClaim['says'], walk: WalkOfClaim = {}): Promise<string> => {
    const facts = { pinned, ...elsewhere };
    const { text } = await walkClaim({ facts, claim: other, of: context, ...walk, says: { ...says } });
    return text.replace('C13 announce, C22 createVolume, ', '');
  };
  const created = { createVolume: answers(made) };
  const second =
    'PersistentVolume pvc-uid-data records a volume of another node for the claim, so volume v1 of this node is not used';

  it('given it is made, then it is deleted, without an event', async () => {
    expect(await end({ ...created, cleanUp: { cleanedUp: 'yes' } })).toBe('C60 cleanUp, C29 settle, C29 done, failure');
  });

  it('given it is made, then it is deleted as the driver described it, and counts as no volume', async () => {
    const volume = { ...made.volume, volume_context: { a: 'b' } };
    const says = { createVolume: answers({ ...made, volume }), cleanUp: { cleanedUp: 'yes' } };
    const { said, end: conclusion } = await walkClaim({
      facts: { pinned, ...elsewhere },
      claim: other,
      of: context,
      says,
    });
    const deleted = { row: 'O12', kind: 'unusable', message: second, volumeId: 'v1', attributes: { a: 'b' } };
    expect(said('cleanUp')[0]?.[1]).toEqual(deleted);
    expect(conclusion).toMatchObject({ known: { created: deleted }, capacity: { row: 'H3' } });
  });

  it('given its deletion goes on from an earlier run, then the claim needs no other attempt', async () => {
    const deleting = { row: 'O12', kind: 'unusable', message: 'second', volumeId: 'v1', attributes: {} } as const;
    const facts = { pinned: { ...pinned, deleting } };
    const says = { cleanUp: { cleanedUp: 'yes' } };
    expect((await walkClaim({ facts, claim: other, says, of: context })).text).toBe(
      'C60 cleanUp, C29 settle, C29 done, failure',
    );
  });

  it('given an in-tree record that names it by an attribute, then it is kept', async () => {
    const driver = { ...central.driver, name: 'csi.vsphere.vmware.com' };
    const record = { metadata: { name: 'pv' }, spec: { vsphereVolume: { volumePath: 'p' } } };
    const volume = { ...made.volume, volume_context: { initialvolumefilepath: 'p' } };
    const claim = {
      ...other,
      annotations: { [annotations.storageProvisioner]: driver.name, [annotations.selectedNode]: 'n2' },
    };
    const { text } = await walkClaim({
      facts: { pinned, volume: { kind: 'elsewhere', record } as never },
      claim,
      says: { createVolume: answers({ ...made, volume }) },
      of: { ...context, driver },
    });
    expect(text).toMatch(/C61 settle, C61 done/);
  });

  it('given it cannot be deleted, then that is tried again', async () => {
    const failed = { cleanUp: { cleanedUp: { failure: 'down', isOpen: true } } };
    expect(await end({ ...created, ...failed })).toBe(
      `C60 cleanUp, C30 retry, Warning: ${second}. cleanup of volume pvc-uid-data failed, volume is orphaned: down, failure`,
    );
  });

  it('given it may be the recorded one, then it is kept, and a person looks', async () => {
    expect(await end(created, { facts: { pinned, ...recordOf('v1') } })).toBe(
      'C61 settle, C61 done, Warning: volume v1 may exist twice: PersistentVolume pvc-uid-data records a volume of this id on another node, and this node has one as well; delete the one of this node in the storage system if it is another one, failure, given up',
    );
  });

  it('given the record is found while it is saved, then it is deleted', async () => {
    const save = { saved: { row: 'S3', kind: 'saved', claim: 'there' }, ...elsewhere };
    const says = { ...created, save, cleanUp: { cleanedUp: 'yes' } };
    expect(await end(says, { facts: { pinned }, says })).toMatch(/C31 save, C60 cleanUp, C29 settle/);
  });

  it('given none is made, then the claim needs no other attempt', async () => {
    expect(await end(says)).toBe('C23 settle, C23 done, failure');
    expect(await end({ createVolume: answers(full) }, { claim: here })).toBe('C26 settle, C26 done, failure');
  });
});

describe('a full node', () => {
  it.each([
    ['this node is selected', here, /C25 settle, C25 reschedule remove finalizer, C25 done/],
    ['another node is selected meanwhile', other, /C26 settle, C26 retry, Warning: full/],
  ] as const)('given %s, then %s', async (_given, claim, text) => {
    const full_ = { createVolume: answers(full) };
    expect(
      (
        await walkClaim({
          facts: { pinned },
          claim,
          says: { ...full_, protect: { protecting: 'refused' } },
          of: context,
        })
      ).text,
    ).toMatch(text);
  });
});

describe('the space', () => {
  const asked = async (changes: object): Promise<unknown> => {
    const { said } = await walkClaim({ facts: sized(changes), says: { checkSpace: 'short' }, of: context });
    return said('checkSpace')[0];
  };

  it('given a request, then it is asked for with its parameters and capabilities, once for each place', async () => {
    const places = [{ segments: { node: 'n1' } }, { segments: { node: 'n1', rack: 'r' } }];
    const request = { ...plan.request, parameters: { a: 'b' }, volume_capabilities: [] };
    const requests = { parameters: { a: 'b' }, volume_capabilities: [] };
    expect(
      await asked({ request: { ...request, accessibility_requirements: { requisite: places, preferred: [] } } }),
    ).toEqual([places.map((place) => ({ ...requests, accessible_topology: place })), 100n]);
    expect(await asked({ request })).toEqual([[requests], 100n]);
  });
});

describe('what a request is planned for', () => {
  const purposes = async (walk: WalkOfClaim): Promise<readonly string[]> => {
    const found: string[] = [];
    const plans = { plan: (_class: unknown, purpose: string) => (found.push(purpose), planned) };
    await walkClaim({
      ...walk,
      facts: { ...walk.facts, ...plans },
      says: { ...says, ...walk.says },
      of: context,
    });
    return found;
  };

  it('[provisioner#P11] given a claim that this instance has to settle, when another node is selected, then only the outcome is wanted', async () => {
    expect(await purposes({ claim: { ...here, ...protection } })).toEqual(['provision']);
    expect(await purposes({ claim: { ...other, ...protection } })).toEqual(['settle']);
  });

  it('[provisioner#P15] given a claim that has the volume of another node, then only the outcome is wanted, also while this node is selected', async () => {
    expect(await purposes({ facts: elsewhere, claim: { ...here, ...protection } })).toEqual(['settle']);
  });

  it('given the wait is over, then the space is asked for a volume that is wanted', async () => {
    expect(await purposes({ facts: waited, says: { checkSpace: 'short' } })).toEqual(['provision']);
  });
});

it.each([
  [{}, here, false],
  [{ deletedForMs: 300_000 }, dying, true],
] as const)(
  'given another instance, when its Node is read, then for a claim of which the deletion is known: %3$s',
  async (facts, claim, isDeleted) => {
    const { said, end } = await walkClaim({
      facts: { ...ofOther, ...facts },
      claim,
      says: looks('there', 0, hourMs),
      of: context,
    });
    expect(said('readNode')).toEqual([[{ name: 'n2', isDeleted }]]);
    expect(end.row).toMatch(/C49|C50/);
  },
);

it('given a claim of another instance that is given up, then the run ends with the written claim', async () => {
  const claim = aClaim({ annotations: { note: 'newer' } });
  const facts = { ...ofUnknown, deletedForMs: 300_000 };
  const { end } = await walkClaim({
    facts,
    claim: dying,
    says: { giveUpOther: { write: 'done', claim } },
    of: context,
  });
  expect(end.known.claim).toBe(claim);
});

it.each([
  ['with our finalizer', true, { ...other, ...protection }],
  ['without our finalizer', false, other],
  ['that is being deleted', false, { ...other, ...settling }],
  ['of this node', false, { ...here, ...protection }],
  ['that is bound', false, { ...other, ...protection, spec: { volumeName: 'pv' } }],
] as [string, boolean, WalkOfClaim['claim']][])(
  'given a claim %s, then its finalizer waits for the binding: %s',
  (_given, is, claim) => {
    expect(waitsForBinding(state({}, claim), context)).toBe(is);
  },
);

it('given a volume that is made while another node is selected, when it is saved, then the finalizer stays until the claim is bound', async () => {
  const says = { createVolume: answers(made), save: { saved: { row: 'S1', kind: 'saved', claim: 'there' } } };
  const claim = { ...protection, ...other };
  const { text } = await walkClaim({ facts: { pinned }, claim, says, of: context });
  expect(text).toBe(
    'C59 readRecord, C13 announce, C22 createVolume, C31 save, C32 settle, C32 done, Normal: Successfully provisioned volume pvc-uid-data, success',
  );
});

it('given a call that is not answered for a day beside the record of another node, then the event says since when it was waited', async () => {
  const deletion = { seenMs: 0, answers: [], forMs: 86_400_000, seenForMs: 86_400_000 };
  const says = { createVolume: answers(ambiguous) };
  const { text } = await walkClaim({ facts: { pinned, deletion, ...elsewhere }, claim: other, says, of: context });
  expect(text).toBe(
    `C13 announce, C22 createVolume, C62 done, Warning: volume pvc-uid-data may exist: CSI driver ${driverName} gave no conclusive answer after a volume of another node was recorded, so the claim was released; delete the volume in the storage system if it is there, failure, given up`,
  );
});
