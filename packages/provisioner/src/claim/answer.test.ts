// SPDX-License-Identifier: Apache-2.0
/** What follows from each answer of CreateVolume. */
import { expect, it } from 'vitest';
import { aClaim, aClass, driverName } from '../../testing/builders.ts';
import {
  ambiguous,
  answers,
  context,
  final,
  full,
  infeasible,
  made,
  malformed,
  pinned,
  protection,
  settling,
  type StateFacts,
  unreached,
  unsettledFinal,
  unusable,
  walkClaim,
  type WalkOfClaim,
} from '../../testing/claim-states.ts';
import type { CreateOutcome } from './outcome.ts';

const kept = `; finalizer provisioning-protection.provisioner.storage.kubernetes.io/${driverName} keeps the claim for some minutes until it is known whether volume pvc-uid-data was created; to give that volume up, remove this finalizer`;
const givenUp = `Warning: volume pvc-uid-data may exist: CSI driver ${driverName} gave no conclusive answer after the claim was deleted, so the claim was released; delete the volume in the storage system if it is there, failure, given up`;
const orphaned = 'Warning: small. Cleanup of volume pvc-uid-data failed, volume is orphaned: busy';
const cleaned = { cleanUp: { cleanedUp: 'yes' } };
const busy = { cleanUp: { cleanedUp: { failure: 'busy', isOpen: false } } };
const dayMs = 86_400_000;
const goneFor = (seenForMs: number, more: object = {}): StateFacts => ({
  presence: 'gone',
  deletion: { seenMs: 0, answers: [], forMs: 9e9, seenForMs, ...more },
});
const saved = (outcome: object): WalkOfClaim['says'] => ({ save: { saved: { row: 'S1', ...outcome } } });
const there = saved({ kind: 'saved', claim: 'there' });
const later = { save: { saved: { row: 'S8', kind: 'later', cause: new Error('x') }, memory: { kind: 'saving' } } };
const taken = saved({ kind: 'taken', message: 'theirs' });
const refused = saved({ kind: 'refused', message: 'bad' });

type Case = readonly [answer: CreateOutcome, given: string, walk: WalkOfClaim, text: string];

/** The request is pinned: the run begins with the call. */
const cases: readonly Case[] = [
  [final, 'live', { claim: protection }, 'C23 settle, C23 unprotect, C23 retry, Warning: no, failure'],
  [
    final,
    'live, and the finalizer stays',
    { claim: protection, says: { unprotect: {} } },
    'C23 settle, C23 unprotect, C23 retry, Warning: no, failure',
  ],
  [final, 'gone', { facts: { presence: 'gone' } }, 'C23 settle, C23 done, failure'],
  [
    infeasible,
    'live',
    { claim: protection },
    'C24 settle refused by class-uid, C24 unprotect, C24 retry, Warning: Volume provisioning failed with infeasible error. Retries will be delayed. no, failure',
  ],
  [
    infeasible,
    'gone, as its class is',
    { facts: { storageClass: undefined, presence: 'gone' } },
    'C24 settle, C24 done, failure',
  ],
  [
    full,
    'with a selected node',
    { claim: { ...protection, node: 'n' } },
    'C25 settle, C25 reschedule remove finalizer, C25 done, Warning: full, failure',
  ],
  [
    full,
    'with a selected node that stays',
    { claim: { ...protection, node: 'n' }, says: { reschedule: { write: 'failed' } } },
    'C25 settle, C25 reschedule remove finalizer, C25 retry, Warning: full, failure',
  ],
  [full, 'without a node', { claim: protection }, 'C26 settle, C26 unprotect, C26 retry, Warning: full, failure'],
  [
    full,
    'deleted, with a selected node',
    { claim: { ...settling, node: 'n' } },
    'C26 settle, C26 unprotect, C26 retry, Warning: full, failure',
  ],
  [ambiguous, 'live', { claim: protection }, 'C27 retry, Warning: late, failure'],
  [
    ambiguous,
    'deleted without the finalizer',
    { claim: { deleting: 'yes' } },
    'C27 retry, Warning: late, failure, open answer',
  ],
  [
    ambiguous,
    'deleted with the finalizer',
    { claim: settling },
    `C27 retry, Warning: late${kept}, failure, open answer`,
  ],
  [
    malformed,
    'deleted with the finalizer',
    { claim: settling },
    `C27 retry, Warning: odd${kept}, failure, open answer`,
  ],
  [
    ambiguous,
    'deleted a minute ago, after two final answers',
    { facts: { answers: ['final', 'final'], deletedForMs: 60_000 }, claim: settling },
    `C27 retry, Warning: late${kept}, failure, open answer, again in 240000`,
  ],
  [
    ambiguous,
    'deleted five minutes ago, after two final answers',
    { facts: { answers: ['final', 'final'], deletedForMs: 300_000 }, claim: settling },
    `C37 giveUp open, C37 retry, ${givenUp}`,
  ],
  [
    unreached,
    'deleted after three answers',
    { facts: { answers: ['final', 'open', 'final'], deletedForMs: 299_000 }, claim: settling },
    `C27 retry, Warning: no connection${kept}, failure, again in 1000`,
  ],
  [
    unreached,
    'deleted five minutes ago, after two answers',
    { facts: { answers: ['final', 'open'], deletedForMs: 300_000 }, claim: settling },
    `C27 retry, Warning: no connection${kept}, failure`,
  ],
  [ambiguous, 'gone for less than a day', { facts: goneFor(dayMs - 1) }, 'C27 retry, failure, open answer'],
  [ambiguous, 'gone for a day', { facts: goneFor(dayMs) }, 'C62 done, failure, given up'],
  [ambiguous, 'gone for a day, given up before', { facts: goneFor(dayMs, { isGivenUp: true }) }, 'C62 done, failure'],
  [
    ambiguous,
    'deleted for a day without the finalizer',
    { facts: { deletedForMs: dayMs }, claim: { deleting: 'yes' } },
    `C62 done, ${givenUp}`,
  ],
  [
    ambiguous,
    'deleted for a day without the finalizer, given up before',
    {
      facts: { deletion: { seenMs: 0, answers: [], forMs: 0, seenForMs: dayMs, isGivenUp: true } },
      claim: { deleting: 'yes' },
    },
    'C62 done, failure',
  ],
  [unsettledFinal, 'live', { claim: protection }, 'C41 releaseRequest, C41 retry, Warning: exists, failure'],
  [
    unsettledFinal,
    'deleted',
    { claim: settling },
    `C41 releaseRequest, C41 retry, Warning: exists${kept}, failure, final answer`,
  ],
  [
    unsettledFinal,
    'deleted 59 seconds ago, for the third time',
    { facts: { answers: ['final', 'final'], deletedForMs: 59_999 }, claim: settling },
    `C41 releaseRequest, C41 retry, Warning: exists${kept}, failure, final answer, again in 1`,
  ],
  [
    unsettledFinal,
    'deleted a minute ago, for the third time',
    {
      facts: { answers: ['final', 'final'], deletedForMs: 60_000 },
      claim: settling,
      says: { giveUp: { isProtected: false, memory: { kind: 'none' } } },
    },
    `C41 releaseRequest, C37 giveUp final, C37 done, ${givenUp}`,
  ],
  [
    unsettledFinal,
    'deleted an hour ago, for the second time',
    { facts: { answers: ['final'], deletedForMs: 3_600_000 }, claim: settling },
    `C41 releaseRequest, C41 retry, Warning: exists${kept}, failure, final answer`,
  ],
  [
    unsettledFinal,
    'gone, for the third time',
    { facts: { presence: 'gone', answers: ['open', 'open'] } },
    'C41 releaseRequest, C39 settle, C39 done, failure',
  ],
  [
    unsettledFinal,
    'gone, for the second time',
    { facts: { presence: 'gone', answers: ['open'] } },
    'C41 releaseRequest, C41 retry, failure, final answer',
  ],
  [
    unsettledFinal,
    'gone, and its deletion was not seen',
    { facts: { presence: 'gone', deletion: undefined } },
    'C41 releaseRequest, C41 retry, failure, final answer',
  ],
  [
    unusable,
    'live, deleted',
    { claim: protection, says: cleaned },
    'C28 cleanUp, C29 settle, C29 unprotect, C29 retry, Warning: small, failure',
  ],
  [unusable, 'live, not deleted', { claim: protection, says: busy }, `C28 cleanUp, C30 retry, ${orphaned}, failure`],
  [
    unusable,
    'deleted, not deleted',
    { claim: settling, says: busy },
    `C28 cleanUp, C30 retry, ${orphaned}${kept}, failure, open answer`,
  ],
  [
    made,
    'live',
    { claim: protection, says: there },
    'C31 save, C32 settle, C32 unprotect, C32 done, Normal: Successfully provisioned volume pvc-uid-data, success',
  ],
  [
    made,
    'gone',
    { facts: { presence: 'gone' }, says: saved({ kind: 'saved', claim: 'gone' }) },
    'C31 save, C32 settle, C32 done, success',
  ],
  [made, 'live, not saved', { claim: protection, says: later }, 'C31 save, C33 done, success'],
  [
    made,
    'of a name that is taken',
    { claim: protection, says: taken },
    'C31 save, C34 settle, C34 unprotect, C34 retry, Warning: theirs, failure',
  ],
  [made, 'live, refused', { claim: protection, says: refused }, 'C31 save, C35 retry, Warning: bad, failure'],
  [
    made,
    'deleted, refused',
    { claim: settling, says: refused },
    `C31 save, C35 retry, Warning: bad${kept}, failure, open answer`,
  ],
];

it.each(cases.map(([answer, given, walk, text]) => [answer.row, answer.kind, given, text, answer, walk] as const))(
  'given %s (%s) for a claim that is %s, then %s',
  async (...[, , , text, answer, { facts, says, ...walk }]) => {
    const walked = await walkClaim({
      ...walk,
      facts: { pinned, ...facts },
      says: { ...says, createVolume: answers(answer) },
    });
    expect(walked.text.replace('C13 announce, ', '')).toBe(`C22 createVolume, ${text}`);
  },
);

it.each<[CreateOutcome, string, WalkOfClaim['says'], string]>([
  [ambiguous, 'C27', {}, 'C27 retry, Warning: late, failure'],
  [unsettledFinal, 'C41', {}, 'C41 retry, Warning: exists, failure'],
  [unusable, 'C30', busy, `C30 retry, ${orphaned}, failure`],
  [made, 'C33', later, 'C33 done, success'],
  [made, 'C35', refused, 'C35 retry, Warning: bad, failure'],
])(
  'given an answer to the first call after which a volume may exist, then row %2$s puts the finalizer on',
  async (...[answer, row, says, end]) => {
    const { text } = await walkClaim({ says: { ...says, createVolume: answers(answer) } });
    expect(text).toMatch(new RegExp(`${row} protect, `));
    expect(text.endsWith(end)).toBe(true);
  },
);

it('given a volume that is too small and not deleted, then the next run knows the volume', async () => {
  const { end, said } = await walkClaim({
    facts: { pinned },
    claim: protection,
    says: { ...busy, createVolume: answers(unusable) },
  });
  expect(said('cleanUp').map(([, volume]) => volume)).toEqual([unusable]);
  expect(end.known.created).toEqual(unusable);
});

it('[O11] given a volume of which no record can be made, then it is deleted as the driver described it', async () => {
  const driver = { ...context.driver, name: 'ebs.csi.aws.com' };
  const storageClass = aClass({ provisioner: 'kubernetes.io/aws-ebs' });
  const volume = { ...made.volume, volume_context: { partition: 'odd' } };
  const sent = { ...pinned, plan: { ...pinned.plan, storageClass, isMigrated: true } };
  const { said, text } = await walkClaim({
    facts: { pinned: sent },
    claim: protection,
    says: { ...cleaned, createVolume: answers({ ...made, volume }) },
    of: { ...context, driver },
  });
  expect(text).toMatch(/C28 cleanUp, C29 settle/);
  expect(said('cleanUp')[0]?.[1]).toMatchObject({
    row: 'O11',
    kind: 'unusable',
    volumeId: 'v1',
    attributes: { partition: 'odd' },
  });
});

it('given a claim that a step has changed, then the run ends with that claim', async () => {
  const claim = aClaim({ node: 'n', annotations: { note: 'newer' } });
  const known = async (answer: CreateOutcome, says: object): Promise<unknown> =>
    (await walkClaim({ claim: { ...protection, node: 'n' }, says: { ...says, createVolume: answers(answer) } })).end
      .known.claim;
  expect(await known(full, { reschedule: { write: 'done', claim } })).toBe(claim);
  expect(await known(unusable, { cleanUp: { cleanedUp: { failure: 'busy', isOpen: false }, claim } })).toBe(claim);
});

it('given a volume that was made without a pinned request, then it is a defect', async () => {
  const walk = { says: { createVolume: { created: made, memory: { kind: 'none' } } } };
  await expect(walkClaim(walk)).rejects.toThrow('an answer without a pinned request');
});

it('given a save that has to be tried again, then the run knows what waits to be saved', async () => {
  const says = { createVolume: answers(made), ...later };
  const { end } = await walkClaim({ facts: { pinned }, claim: protection, says });
  expect(end).toMatchObject({ row: 'C33', known: { memory: { kind: 'saving' } } });
});

it('given a call that may be open, and a claim that names its volume while no record is shown, then the call is repeated', async () => {
  const claim = { ...protection, spec: { volumeName: 'pvc-uid-data' } };
  const { text } = await walkClaim({ facts: { pinned }, claim, says: { createVolume: answers(ambiguous) } });
  expect(text).toBe('C13 announce, C22 createVolume, C27 retry, Warning: late, failure');
});
