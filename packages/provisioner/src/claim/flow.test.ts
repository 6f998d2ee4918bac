// SPDX-License-Identifier: Apache-2.0
/** The rows of the claim table up to the call: what is known, the steps of the run, and its end. */
import { describe, expect, it } from 'vitest';
import { aClaim, aClass, aVolume, driverName } from '../../testing/builders.ts';
import {
  always,
  ambiguous,
  answers,
  context,
  final,
  foreign,
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
  withSecret,
} from '../../testing/claim-states.ts';
import { annotations } from '../names.ts';
import { isOverdue } from './known.ts';

const kept = `; finalizer provisioning-protection.provisioner.storage.kubernetes.io/${driverName} keeps the claim for some minutes until it is known whether volume pvc-uid-data was created; to give that volume up, remove this finalizer`;
const givenUp = `Warning: volume pvc-uid-data may exist: CSI driver ${driverName} gave no conclusive answer after the claim was deleted, so the claim was released; delete the volume in the storage system if it is there, failure, given up`;
const finals = ['final', 'final', 'final'] as const;
const opens = ['open', 'open', 'open'] as const;
const own = { volume: { kind: 'own' } } as const;
const taken = { volume: { kind: 'taken', name: 'pv', owner: 'a/b' } } as const;
const bound = { spec: { volumeName: 'pvc-uid-data' } };
const off: WalkOfClaim['of'] = { ...context, settings: { ...context.settings, provisioningProtection: 'off' } };
const refusedWrite = { protect: { protecting: 'refused' } };
const failedWrite = { protect: { protecting: 'failed' } };
const goneMeanwhile = { protect: { protecting: 'refused', presence: 'gone' } };
const stays = { unprotect: {} };
const says = { createVolume: answers(final) };
const call = 'C22 lookAgain, C22 createVolume first';
const refused = 'C23 retry, Warning: no, failure';

const losingAs = (phase: string): StateFacts => ({
  volume: { kind: 'losing', record: aVolume({ deleting: 'yes', phase, finalizers: ['a/b'] }) },
});
const losing = losingAs('Available');
const losingText =
  'C63 retry, Warning: PersistentVolume pvc-uid-data of this claim is being deleted, and the claim cannot be bound to it. Once it is gone, the claim is provisioned again. If its finalizers (a/b) keep it, remove them, or delete the claim, failure';

type Case = readonly [given: string, walk: WalkOfClaim, text: string];

const saving: readonly Case[] = [
  ['saving, without the finalizer', { facts: { remembers: 'saving' } }, 'C1 protect, C2 done'],
  ['saving, and the write fails', { facts: { remembers: 'saving' }, says: failedWrite }, 'C1 protect, C2 done'],
  ['saving, with the finalizer', { facts: { remembers: 'saving' }, claim: protection }, 'C2 done'],
  ['saving, protection is off', { facts: { remembers: 'saving' }, of: off }, 'C2 done'],
  ['saving, gone', { facts: { remembers: 'saving', presence: 'gone' } }, 'C2 done'],
  [
    'saving, deleted a minute ago',
    { facts: { remembers: 'saving', answers: opens, deletedForMs: 60_000 }, claim: settling },
    'C2 requeueAfter 240000',
  ],
  [
    'saving, deleted five minutes ago after one answer',
    { facts: { remembers: 'saving', answers: ['open'], deletedForMs: 300_000 }, claim: settling },
    'C2 requeueAfter 10000',
  ],
  [
    'saving, deleted five minutes ago after three answers',
    { facts: { remembers: 'saving', answers: opens, deletedForMs: 300_000 }, claim: settling },
    `C37 giveUp open, C37 done, ${givenUp}`,
  ],
  [
    'saving, deleted for days, with always',
    { facts: { remembers: 'saving', answers: opens, deletedForMs: 9e8 }, claim: settling, of: always },
    'C2 done',
  ],
];

const nothingToAttempt: readonly Case[] = [
  [
    'settled with the finalizer, wanted',
    { facts: { remembers: 'settled' }, claim: protection, says },
    `C3 unprotect, C13 announce, ${call}, C23 settle, ${refused}`,
  ],
  [
    'settled, the finalizer stays',
    { facts: { remembers: 'settled' }, claim: protection, says: stays },
    'C3 unprotect, C3 retry',
  ],
  [
    'the finalizer, and our volume is bound',
    { claim: { ...protection, ...bound } },
    'C4 settle, C4 unprotect, C4 done',
  ],
  [
    'the finalizer stays, and our volume is bound',
    { claim: { ...protection, ...bound }, says: stays },
    'C4 settle, C4 unprotect, C4 retry',
  ],
  ['gone', { facts: { presence: 'gone' } }, 'C5 done'],
  [
    'infeasible for a last millisecond, as memory says',
    { facts: { infeasibleForMs: 1, remembers: 'settled' } },
    'C6 requeueAfter 1',
  ],
  ['infeasible for a last millisecond', { facts: { infeasibleForMs: 1 } }, 'C6 requeueAfter 1'],
  ['not ours', { claim: { annotations: foreign } }, 'C7 done'],
  ['without annotations', { claim: { annotations: {} } }, 'C7 done'],
  ['bound', { claim: { spec: { volumeName: 'pv' } } }, 'C7 done'],
  ['bound to our volume, without the finalizer', { claim: bound }, 'C7 done'],
  ['late binding without a node', { facts: { storageClass: late } }, 'C9 done'],
  ['always, deleted before the first call', { claim: { deleting: 'yes' }, of: always }, 'C40 done'],
];

const recorded: readonly Case[] = [
  ['recorded', { facts: own }, 'C10 done, failure'],
  ['recorded, the finalizer alone', { facts: own, claim: protection }, 'C10 settle, C10 unprotect, C10 done, failure'],
  ['recorded, pinned', { facts: { ...own, pinned } }, 'C10 settle, C10 done, failure'],
  [
    'recorded, open, with the finalizer',
    { facts: { ...own, remembers: 'open' }, claim: protection },
    'C10 settle, C10 unprotect, C10 done, failure',
  ],
  ['recorded, pinned, bound', { facts: { ...own, pinned }, claim: bound }, 'C10 settle, C10 done'],
  ['recorded, pinned, gone', { facts: { ...own, pinned, presence: 'gone' } }, 'C10 settle, C10 done'],
  ['losing its record', { facts: losing }, `C63 releaseRequest, C63 protect, ${losingText}`],
  ['losing its record, the finalizer alone', { facts: losing, claim: protection }, `C63 releaseRequest, ${losingText}`],
  ['losing its record, pinned', { facts: { ...losing, pinned } }, `C63 protect, ${losingText}`],
  [
    'losing its record, open, with the finalizer',
    { facts: { ...losing, remembers: 'open' }, claim: protection },
    losingText,
  ],
  [
    'losing its record, settled with the finalizer',
    { facts: { ...losing, remembers: 'settled' }, claim: protection },
    `C63 releaseRequest, ${losingText}`,
  ],
  [
    'losing its record, which cannot be read',
    { facts: losingAs('Bound'), says: { readClaim: new Error('down') } },
    'C64 readClaim, C64 retry',
  ],
  [
    'losing its record, and gone meanwhile',
    { facts: { ...losing, pinned }, says: goneMeanwhile },
    'C63 protect, C63 retry, failure, open answer',
  ],
  [
    'losing its record, which was bound, pinned, the claim is gone',
    {
      facts: { ...losingAs('Released'), pinned },
      says: { readClaim: { presence: 'gone', isProtected: false, ...own } },
    },
    'C64 readClaim, C10 settle, C10 done',
  ],
  [
    'losing its record, which was bound, and the claim waits still',
    { facts: losingAs('Bound'), claim: protection, says: { readClaim: {} } },
    `C64 readClaim, C63 releaseRequest, ${losingText}`,
  ],
  [
    'whose name is taken',
    { facts: taken },
    'C11 retry, Warning: PersistentVolume pv already exists and belongs to claim a/b, failure',
  ],
  [
    'whose name is taken, pinned',
    { facts: { ...taken, pinned }, claim: protection, says },
    `C13 announce, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'whose name is taken, deleted with an open outcome',
    { facts: { ...taken, remembers: 'open' }, claim: settling, says },
    `C13 announce, C22 lookAgain, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
];

const classes: readonly Case[] = [
  ['without its class', { facts: { storageClass: undefined } }, 'C8 retry, failure'],
  [
    'without its class, with the finalizer',
    { facts: { storageClass: undefined }, claim: protection },
    'C8 retry, Warning: storageClass "fast" not found, failure',
  ],
  [
    'without its class, deleted',
    { facts: { storageClass: undefined }, claim: { deleting: 'yes' } },
    'C8 retry, failure',
  ],
  [
    'of another provisioner, deleted with the finalizer',
    { facts: { storageClass: aClass({ provisioner: 'other' }) }, claim: settling },
    `C12 retry, Warning: storageClass "fast" belongs to provisioner other${kept}, failure, open answer`,
  ],
  [
    'without its class, deleted with the finalizer',
    { facts: { storageClass: undefined }, claim: settling },
    `C8 retry, Warning: storageClass "fast" not found${kept}, failure, open answer`,
  ],
  ['of another provisioner', { facts: { storageClass: aClass({ provisioner: 'other' }) } }, 'C12 done, failure'],
  [
    'of another provisioner, with the finalizer',
    { facts: { storageClass: aClass({ provisioner: 'other' }) }, claim: protection },
    'C12 retry, Warning: storageClass "fast" belongs to provisioner other, failure',
  ],
  [
    'for a populator',
    { facts: { dataSource: { kind: 'populator' } } },
    'C13 announce, C15 done, Normal: Assuming an external populator will provision the volume, failure',
  ],
  [
    'for a populator, with the finalizer',
    { facts: { dataSource: { kind: 'populator' } }, claim: protection },
    'C13 announce, C15 retry, Warning: creating a volume from a populator is not supported by this provisioner, failure',
  ],
  [
    'whose source has no name',
    { facts: { dataSource: { kind: 'refused', message: 'no name' } } },
    'C13 announce, C18 retry, Warning: no name, failure',
  ],
];

const calls: readonly Case[] = [
  ['to provision', { says }, `C13 announce, ${call}, C23 settle, ${refused}`],
  [
    'late binding with a node',
    { facts: { storageClass: late }, claim: { node: 'n1' }, says },
    `C13 announce, ${call}, C23 settle, ${refused}`,
  ],
  [
    'with the finalizer alone',
    { claim: protection, says },
    `C13 announce, C22 lookAgain, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'open, without the finalizer',
    { facts: { remembers: 'open' }, says },
    `C13 announce, C36 protect, C22 lookAgain, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'open, and the write fails',
    { facts: { remembers: 'open' }, says: failedWrite },
    'C13 announce, C36 protect, C22 lookAgain, C36 retry',
  ],
  [
    'open, and the write is refused',
    { facts: { remembers: 'open' }, says: { ...refusedWrite, createVolume: answers(ambiguous) } },
    'C13 announce, C36 protect, C22 lookAgain, C22 createVolume, C27 retry, Warning: late, failure',
  ],
  [
    'open, and gone meanwhile',
    { facts: { remembers: 'open' }, says: { ...goneMeanwhile, createVolume: answers(ambiguous) } },
    'C13 announce, C36 protect, C22 lookAgain, C22 createVolume, C27 retry, failure, open answer',
  ],
  [
    'pinned, without the finalizer',
    { facts: { pinned }, says },
    `C13 announce, C21 protect, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  ['pinned, and the write fails', { facts: { pinned }, says: failedWrite }, 'C13 announce, C21 protect, C21 retry'],
  [
    'pinned, and the write is refused',
    { facts: { pinned }, says: { ...refusedWrite, createVolume: answers(ambiguous) } },
    'C13 announce, C21 protect, C22 createVolume, C27 retry, Warning: late, failure',
  ],
  [
    'pinned, protection is off',
    { facts: { pinned }, says: { createVolume: answers(ambiguous) }, of: off },
    'C13 announce, C22 createVolume, C27 retry, Warning: late, failure',
  ],
  [
    'pinned, not ours any more, gone, without its class',
    { facts: { pinned, storageClass: undefined, presence: 'gone' }, claim: { annotations: foreign }, says },
    'C22 createVolume, C23 settle, C23 done, failure',
  ],
  [
    'pinned, deleted without the finalizer',
    { facts: { pinned }, claim: { deleting: 'yes' }, says },
    `C13 announce, C22 createVolume, C23 settle, ${refused}`,
  ],
  [
    'whose record appears while it is attempted',
    { says: { readSecret: { kind: 'found', values: {} }, lookAgain: own } },
    'C13 announce, C22 lookAgain, C10 done, failure',
  ],
  [
    'whose name is taken while it is attempted',
    { says: { lookAgain: taken } },
    'C13 announce, C22 lookAgain, C11 retry, Warning: PersistentVolume pv already exists and belongs to claim a/b, failure',
  ],
];

const bounds: readonly Case[] = [
  ...(
    [
      ['three final answers, deleted a minute ago', finals, 60_000, 'final'],
      [
        'three answers of which the last is final, deleted five minutes ago',
        ['final', 'open', 'final'],
        300_000,
        'final',
      ],
      ['three answers of which the last is open, deleted five minutes ago', ['open', 'final', 'open'], 300_000, 'open'],
    ] as const
  ).map(([given, all, deletedForMs, last]): Case => [
    `pinned, ${given}`,
    { facts: { pinned, answers: all, deletedForMs }, claim: settling },
    `C37 giveUp ${last}, C37 retry, ${givenUp}`,
  ]),
  [
    'pinned, three final answers, deleted 59 seconds ago',
    { facts: { pinned, answers: finals, deletedForMs: 59_999 }, claim: settling, says },
    `C13 announce, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
  [
    'pinned, and the finalizer of the claim that is given up stays',
    { facts: { pinned, answers: finals, deletedForMs: 60_000 }, claim: settling, says: { giveUp: {} } },
    'C37 giveUp final, C38 retry, again in 10000',
  ],
  [
    'whose outcome no call of this process settles',
    { facts: { answers: finals, deletedForMs: 60_000 }, claim: settling },
    `C37 giveUp final, C37 done, ${givenUp}`,
  ],
  [
    'pinned, deleted for days, with always',
    { facts: { pinned, answers: opens, deletedForMs: 9e8 }, claim: settling, says, of: always },
    `C13 announce, C22 createVolume, C23 settle, C23 unprotect, ${refused}`,
  ],
];

describe('the claim table', () => {
  const cases = [...saving, ...nothingToAttempt, ...recorded, ...classes, ...calls, ...bounds];
  it.each(cases.map(([given, walk, text]) => [given, text, walk] as const))(
    'given a claim: %s, then %s',
    async (_given, text, walk) => {
      expect((await walkClaim(walk)).text).toBe(text);
    },
  );

  it('given an unfinished deletion of an earlier run, then that is first', async () => {
    const deleting = { row: 'O8', kind: 'unusable', message: 'small', volumeId: 'v1', attributes: {} } as const;
    const facts = { pinned: { ...pinned, deleting } };
    const { text, end } = await walkClaim({ facts, says: { cleanUp: { cleanedUp: 'yes' } } });
    expect(text).toBe('C28 cleanUp, C29 settle, C29 retry, Warning: small, failure');
    expect(end.capacity).toMatchObject({ row: 'H3' });
  });

  it.each([
    ['remove', { facts: { remembers: 'settled' }, claim: protection, says: stays }],
    ['add', { facts: { remembers: 'open' }, says: failedWrite }],
    ['add', { facts: { pinned }, says: failedWrite }],
    ['remove', { facts: { pinned, answers: finals, deletedForMs: 60_000 }, claim: settling, says: { giveUp: {} } }],
    ['remove', { claim: { ...protection, ...bound }, says: stays }],
  ] as const)(
    'given a write of the finalizer that failed, then the cause of the retry is that it could not %s it',
    async (what, walk) => {
      const { outcome } = (await walkClaim(walk)).end;
      expect(outcome).toMatchObject({
        cause: { message: `failed to ${what} the provisioning finalizer of claim team/data` },
      });
    },
  );

  it('given a claim that is given up, then the cause of the retry is the event', async () => {
    const { end } = await walkClaim({ facts: { pinned, answers: finals, deletedForMs: 60_000 }, claim: settling });
    expect(end.outcome).toMatchObject({ cause: { message: end.events[0]?.message } });
  });

  it('given a class of an in-tree plugin that cannot be translated, then the message of the translation is the failure', async () => {
    const driver = { ...context.driver, name: 'ebs.csi.aws.com' };
    const storageClass = aClass({
      provisioner: 'kubernetes.io/aws-ebs',
      parameters: { zone: 'a' },
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['b'] }] }],
    });
    const claim = { annotations: { [annotations.storageProvisioner]: driver.name } };
    expect((await walkClaim({ facts: { storageClass }, claim, of: { ...context, driver } })).text).toBe(
      'C13 announce, C14 retry, Warning: failed to translate storage class: cannot simultaneously set allowed topologies and zone/zones parameters, failure',
    );
  });

  it('given the finalizer, no name for a volume and a claim without one, then the claim does not count as bound to its volume', async () => {
    const { text } = await walkClaim({
      facts: { volumeName: '' },
      claim: { ...protection, spec: { volumeName: '' } },
      says,
    });
    expect(text).toMatch(/^C13 announce/);
  });
});

describe('--provisioning-protection', () => {
  it('[provisioner#P8] given always, then the finalizer comes before the call, and without it there is no call', async () => {
    const text = async (more: WalkOfClaim['says']): Promise<string> =>
      (await walkClaim({ says: { ...says, ...more }, of: always })).text;
    expect(await text({})).toBe(`C13 announce, C36 protect, ${call}, C23 settle, C23 unprotect, ${refused}`);
    expect(await text(failedWrite)).toBe('C13 announce, C36 protect, C22 lookAgain, C36 retry');
    expect(await text(refusedWrite)).toMatch(
      /^C13 announce, C36 protect, C22 lookAgain, C36 retry, Warning: cannot put finalizer/,
    );
    expect(await text(goneMeanwhile)).toBe('C13 announce, C36 protect, C22 lookAgain, C5 done');
  });

  it('[provisioner#P8] given always, and a refusal that is over while the finalizer is still there, then the finalizer is put on again before the call', async () => {
    const memory = { kind: 'settled', claim: aClaim(), refusal: { untilMs: 0, classUid: 'class-uid' } } as const;
    const unprotect = { isProtected: false, memory };
    const { text } = await walkClaim({
      facts: { memory },
      claim: protection,
      says: { ...says, unprotect },
      of: always,
    });
    expect(text).toMatch(new RegExp(`^C3 unprotect, C13 announce, C36 protect, ${call}, `));
  });

  it('[provisioner#P9] given always, after any number of answers, then the claim is kept, and the event says how to give it up', async () => {
    const facts = { pinned, answers: opens, deletedForMs: 9e9 };
    const { text } = await walkClaim({
      facts,
      claim: settling,
      says: { createVolume: answers(ambiguous) },
      of: always,
    });
    expect(text).toBe(
      `C13 announce, C22 createVolume, C27 retry, Warning: late${kept.replace(' for some minutes', '')}, failure, open answer`,
    );
  });
});

describe('whether a claim has waited long enough', () => {
  const waited = { answers: finals, deletedForMs: 60_000, remembers: 'open' } as const;

  it.each([
    ['whose bound has passed', true, waited, settling],
    ['whose bound has not passed', false, { ...waited, deletedForMs: 59_999 }, settling],
    ['with too few answers', false, { ...waited, answers: ['final', 'final'] }, settling],
    ['without our finalizer', false, waited, { deleting: 'yes' }],
    ['whose outcome is settled', false, { ...waited, remembers: 'settled' }, settling],
    ['whose deletion was not seen', false, { ...waited, deletion: undefined }, settling],
    ['that is gone', false, { ...waited, presence: 'gone', isProtected: true }, {}],
    ['that is live', false, { ...waited, presence: 'live' }, protection],
  ] as [string, boolean, StateFacts, WalkOfClaim['claim']][])(
    'given a claim %s, then %s',
    (...[, is, facts, claim]) => {
      expect(isOverdue(state(facts, claim), context)).toBe(is);
    },
  );
});

describe('what is known of the capacity after a run', () => {
  const capacityAfter = async (walk: WalkOfClaim): Promise<unknown> => (await walkClaim(walk)).end.capacity;
  const ofClass = { kind: 'class', className: 'fast' };

  it('given no call, then nothing', async () => {
    expect(await capacityAfter({ facts: { presence: 'gone' } })).toEqual({ row: 'H4', kind: 'none' });
  });

  it('given a call that made no volume, then the class is asked for again', async () => {
    expect(await capacityAfter({ says })).toEqual({ row: 'H3', ...ofClass });
    expect((await walkClaim({ says })).end.kind).toBe('conclude');
  });

  it('given a volume that was made, then its topology is asked for again, or its class if it has none', async () => {
    const volume = { ...made.volume, accessible_topology: [{ segments: { zone: 'a' } }] };
    const save = { saved: { row: 'S1', kind: 'saved', claim: 'there' } };
    const savedOne = { save, createVolume: answers({ ...made, volume }) };
    const matchExpressions = [{ key: 'zone', operator: 'In', values: ['a'] }];
    expect(await capacityAfter({ says: savedOne })).toEqual({
      row: 'H1',
      kind: 'segments',
      affinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    });
    expect(await capacityAfter({ says: { save, createVolume: answers(made) } })).toEqual({ row: 'H2', ...ofClass });
    expect(await capacityAfter({ says: savedOne, of: { ...context, supportsTopology: false } })).toEqual({
      row: 'H2',
      ...ofClass,
    });
  });
});

describe('when a volume is wanted, and when only the outcome', () => {
  it.each([
    ['provision', 'of which nothing is known', {}, {}],
    ['provision', 'with the finalizer alone, live', {}, protection],
    ['provision', 'whose request was released, live', { remembers: 'open' }, protection],
    ['settle', 'with the finalizer alone, deleted', { storageClass: late }, settling],
    [
      'settle',
      'with the finalizer alone, bound elsewhere',
      { storageClass: late },
      { ...protection, spec: { volumeName: 'x' } },
    ],
    ['settle', 'with the finalizer alone, not ours any more', {}, { ...protection, annotations: foreign }],
    ['settle', 'whose request was released, gone', { remembers: 'open', presence: 'gone' }, {}],
  ] as [string, string, StateFacts, WalkOfClaim['claim']][])(
    'to %s: a claim %s',
    async (...[purpose, , facts, claim]) => {
      const asked: string[] = [];
      const planning = { ...facts, plan: (_class: unknown, what: string) => (asked.push(what), planned) };
      await walkClaim({ facts: planning, ...(claim && { claim }), says });
      expect(asked).toEqual([purpose]);
    },
  );
});

describe('what a repeated call sends', () => {
  const sent = {
    ...pinned,
    plan: withSecret,
    request: { ...plan.request, parameters: { size: 'big' }, secrets: { key: 'old' } },
  };
  const requestWith = async (secret: object): Promise<unknown> => {
    const { said } = await walkClaim({
      facts: { pinned: sent },
      claim: protection,
      says: { ...says, readSecret: secret },
    });
    return said('createVolume')[0]?.[1];
  };

  it('given a secret that has changed, then only the secret differs, and it is pinned', async () => {
    const request = { ...sent.request, secrets: { key: 'new' } };
    expect(await requestWith({ kind: 'found', values: { key: 'new' } })).toEqual({
      pinned: { ...sent, request },
      isFirst: false,
    });
  });

  it('given a secret that is gone, then the call has the last one', async () => {
    expect(await requestWith({ kind: 'missing', message: 'gone' })).toEqual({ pinned: sent, isFirst: false });
  });

  it('given a secret that cannot be read, then there is no call', async () => {
    const walk = {
      facts: { pinned: sent },
      claim: settling,
      says: { readSecret: { kind: 'failed', message: 'down' } },
    };
    expect((await walkClaim(walk)).text).toBe(
      `C13 announce, C19 readSecret, C19 retry, Warning: down${kept}, failure, open answer`,
    );
  });
});
