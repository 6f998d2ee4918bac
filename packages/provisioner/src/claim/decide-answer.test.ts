// SPDX-License-Identifier: Apache-2.0
/** One line per row of the claim table, from the answer on: the state, and the next action. */
import { describe, expect, it } from 'vitest';
import {
  attempted,
  context,
  protection,
  ambiguous,
  final,
  full,
  infeasible,
  malformed,
  unreached,
  unsettledFinal,
  made,
  pinned,
  type Row,
  settling,
  show,
  state,
  type StateFacts,
  unusable,
} from '../../testing/claim-states.ts';
import { aClass, driverName } from '../../testing/builders.ts';
import { decide } from './decide.ts';

const kept = `; finalizer provisioning-protection.provisioner.storage.kubernetes.io/${driverName} keeps the claim for some minutes until it is known whether volume pvc-uid-data was created; to give that volume up, remove this finalizer`;
const givenUp = `volume pvc-uid-data may exist: CSI driver ${driverName} gave no conclusive answer after the claim was deleted, so the claim was released; delete the volume in the storage system if it is there`;

const rows: readonly Row[] = [
  { row: 'C23', given: 'final, pinned', state: state({ ...attempted, created: final }), next: 'settle' },
  {
    row: 'C23',
    given: 'final, settled',
    state: state({ ...attempted, created: final, remembers: 'none' }),
    next: 'retry, Warning: no, failure',
  },
  {
    row: 'C23',
    given: 'final, finalizer still there',
    state: state({ ...attempted, created: final, remembers: 'settled' }, protection),
    next: 'unprotect',
  },
  {
    row: 'C23',
    given: 'final, finalizer stays',
    state: state({ ...attempted, created: final, remembers: 'settled', unprotecting: 'failed' }, protection),
    next: 'retry, Warning: no, failure',
  },
  {
    row: 'C23',
    given: 'final, claim gone',
    state: state({ ...attempted, created: final, remembers: 'none', presence: 'gone' }),
    next: 'done, failure',
  },
  {
    row: 'C24',
    given: 'infeasible, pinned',
    state: state({ ...attempted, created: infeasible }),
    next: 'settle, refused by class-uid',
  },
  {
    row: 'C24',
    given: 'infeasible, settled',
    state: state({ ...attempted, created: infeasible, remembers: 'settled' }),
    next: 'retry, Warning: Volume provisioning failed with infeasible error. Retries will be delayed. no, failure',
  },
  {
    row: 'C25',
    given: 'reschedule, pinned',
    state: state({ ...attempted, created: full }, { node: 'n' }),
    next: 'settle',
  },
  {
    row: 'C25',
    given: 'reschedule',
    state: state({ ...attempted, created: full, remembers: 'none' }, { node: 'n' }),
    next: 'reschedule, remove finalizer',
  },
  {
    row: 'C25',
    given: 'rescheduled',
    state: state({ ...attempted, created: full, remembers: 'none', rescheduling: 'done' }, { node: 'n' }),
    next: 'done, Warning: full, failure',
  },
  {
    row: 'C25',
    given: 'reschedule failed',
    state: state({ ...attempted, created: full, remembers: 'none', rescheduling: 'failed' }, { node: 'n' }),
    next: 'retry, Warning: full, failure',
  },
  {
    row: 'C26',
    given: 'reschedule without annotation',
    state: state({ ...attempted, created: full, remembers: 'none' }),
    next: 'retry, Warning: full, failure',
  },
  {
    row: 'C26',
    given: 'reschedule, claim being deleted',
    state: state({ ...attempted, created: full, remembers: 'settled' }, { ...settling, node: 'n' }),
    next: 'unprotect',
  },
  {
    row: 'C27',
    given: 'ambiguous',
    state: state({ ...attempted, created: ambiguous }),
    next: 'protect',
  },
  {
    row: 'C27',
    given: 'ambiguous, protected',
    state: state({ ...attempted, created: ambiguous }, protection),
    next: 'retry, Warning: late, failure',
  },
  {
    row: 'C27',
    given: 'ambiguous, being deleted without the finalizer',
    state: state({ ...attempted, created: ambiguous }, { deleting: 'yes' }),
    next: 'retry, Warning: late, failure, open answer',
  },
  {
    row: 'C27',
    given: 'ambiguous, being deleted with the finalizer',
    state: state({ ...attempted, created: ambiguous }, settling),
    next: `retry, Warning: late${kept}, failure, open answer`,
  },
  {
    row: 'C27',
    given: 'the driver not reached, claim being deleted, after three answers',
    state: state(
      { ...attempted, created: unreached, answers: ['final', 'open', 'final'], deletedForMs: 299_000 },
      settling,
    ),
    next: `retry, Warning: no connection${kept}, failure, again in 1000`,
  },
  {
    row: 'C27',
    given: 'ambiguous, claim gone, repeatedly',
    state: state({
      ...attempted,
      created: ambiguous,
      presence: 'gone',
      answers: ['open', 'open', 'open'],
      deletedForMs: 86_399_999,
    }),
    next: 'retry, failure, open answer',
  },
  {
    row: 'C27',
    given: 'malformed',
    state: state({ ...attempted, created: malformed }),
    next: 'protect',
  },
  {
    row: 'C41',
    given: 'final, unsettled, pinned',
    state: state({ ...attempted, created: unsettledFinal }, settling),
    next: 'releaseRequest',
  },
  {
    row: 'C41',
    given: 'final, unsettled, released, without the finalizer',
    state: state({ ...attempted, created: unsettledFinal, remembers: 'open' }),
    next: 'protect',
  },
  {
    row: 'C41',
    given: 'final, unsettled, released, live',
    state: state({ ...attempted, created: unsettledFinal, remembers: 'open' }, protection),
    next: 'retry, Warning: exists, failure',
  },
  {
    row: 'C41',
    given: 'final, unsettled, released, deleting',
    state: state({ ...attempted, created: unsettledFinal, remembers: 'open' }, settling),
    next: `retry, Warning: exists${kept}, failure, final answer`,
  },
  {
    row: 'C41',
    given: 'the third final answer, deleted 59 seconds ago',
    state: state(
      { ...attempted, created: unsettledFinal, remembers: 'open', answers: ['final', 'final'], deletedForMs: 59_000 },
      settling,
    ),
    next: `retry, Warning: exists${kept}, failure, final answer, again in 1000`,
  },
  {
    row: 'C37',
    given: 'the third final answer, deleted a minute ago',
    state: state(
      { ...attempted, created: unsettledFinal, remembers: 'open', answers: ['final', 'final'], deletedForMs: 60_000 },
      settling,
    ),
    next: 'giveUp, final',
  },
  {
    row: 'C41',
    given: 'the second final answer, deleted an hour ago',
    state: state(
      { ...attempted, created: unsettledFinal, remembers: 'open', answers: ['final'], deletedForMs: 3_600_000 },
      settling,
    ),
    next: `retry, Warning: exists${kept}, failure, final answer`,
  },
  {
    row: 'C37',
    given: 'the third answer, not all of them final, deleted five minutes ago',
    state: state({ ...attempted, created: ambiguous, answers: ['final', 'final'], deletedForMs: 300_000 }, settling),
    next: 'giveUp, open',
  },
  {
    row: 'C27',
    given: 'the third answer, not all of them final, deleted a minute ago',
    state: state({ ...attempted, created: ambiguous, answers: ['final', 'final'], deletedForMs: 60_000 }, settling),
    next: `retry, Warning: late${kept}, failure, open answer, again in 240000`,
  },
  {
    row: 'C37',
    given: 'given up, no volume possible',
    state: state({ ...attempted, created: unsettledFinal, remembers: 'none', givingUp: 'done' }, { deleting: 'yes' }),
    next: `done, Warning: ${givenUp}, failure, given up`,
  },
  {
    row: 'C37',
    given: 'given up, the call may still be running',
    state: state({ ...attempted, created: ambiguous, givingUp: 'done' }, { deleting: 'yes' }),
    next: `retry, Warning: ${givenUp}, failure, given up`,
  },
  {
    row: 'C38',
    given: 'the finalizer of a claim that is given up stays',
    state: state({ ...attempted, created: ambiguous, givingUp: 'failed' }, settling),
    next: 'retry, again in 10000',
  },
  {
    row: 'C39',
    given: 'the third final answer, gone',
    state: state({
      ...attempted,
      created: unsettledFinal,
      remembers: 'open',
      presence: 'gone',
      answers: ['open', 'open'],
    }),
    next: 'settle',
  },
  {
    row: 'C39',
    given: 'the third final answer, gone and forgotten',
    state: state({
      ...attempted,
      created: unsettledFinal,
      remembers: 'none',
      presence: 'gone',
      answers: ['open', 'open'],
    }),
    next: 'done, failure',
  },
  {
    row: 'C41',
    given: 'the second final answer, gone',
    state: state({ ...attempted, created: unsettledFinal, remembers: 'open', presence: 'gone', answers: ['open'] }),
    next: 'retry, failure, final answer',
  },
  {
    row: 'C62',
    given: 'ambiguous, gone for a day',
    state: state({ ...attempted, created: ambiguous, presence: 'gone', deletedForMs: 86_400_000 }),
    next: 'done, failure, given up',
  },
  {
    row: 'C62',
    given: 'ambiguous, given up, gone for a day',
    state: state({
      ...attempted,
      created: ambiguous,
      presence: 'gone',
      deletion: { seenMs: 0, answers: [], forMs: 0, seenForMs: 86_400_000, isGivenUp: true },
    }),
    next: 'done, failure',
  },
  {
    row: 'C62',
    given: 'ambiguous, being deleted for a day without our finalizer',
    state: state({ ...attempted, created: ambiguous, deletedForMs: 86_400_000 }, { deleting: 'yes' }),
    next: `done, Warning: ${givenUp}, failure, given up`,
  },
  {
    row: 'C27',
    given: 'ambiguous, gone for a day by the wall clock alone',
    state: state({
      ...attempted,
      created: ambiguous,
      presence: 'gone',
      deletion: { seenMs: 0, answers: [], forMs: 9e9, seenForMs: 86_399_999 },
    }),
    next: 'retry, failure, open answer',
  },
  { row: 'C28', given: 'too small', state: state({ ...attempted, created: unusable }), next: 'cleanUp' },
  {
    row: 'C29',
    given: 'too small, cleaned up',
    state: state({ ...attempted, created: unusable, cleanedUp: 'yes', remembers: 'none' }),
    next: 'retry, Warning: small, failure',
  },
  {
    row: 'C30',
    given: 'too small, not cleaned up',
    state: state({ ...attempted, created: unusable, cleanedUp: { failure: 'busy', isOpen: false } }, protection),
    next: 'retry, Warning: small. Cleanup of volume pvc-uid-data failed, volume is orphaned: busy, failure',
  },
  {
    row: 'C30',
    given: 'too small, not cleaned up, no finalizer',
    state: state({ ...attempted, created: unusable, cleanedUp: { failure: 'busy', isOpen: false } }),
    next: 'protect',
  },
  { row: 'C31', given: 'made', state: state({ ...attempted, created: made }), next: 'save' },
  {
    row: 'C32',
    given: 'saved',
    state: state({ ...attempted, created: made, saved: { row: 'S1', kind: 'saved', claim: 'there' } }),
    next: 'settle',
  },
  {
    row: 'C32',
    given: 'saved, settled',
    state: state({
      ...attempted,
      created: made,
      saved: { row: 'S1', kind: 'saved', claim: 'there' },
      remembers: 'none',
    }),
    next: 'done, Normal: Successfully provisioned volume pvc-uid-data, success',
  },
  {
    row: 'C32',
    given: 'saved, claim gone',
    state: state({
      ...attempted,
      created: made,
      saved: { row: 'S1', kind: 'saved', claim: 'gone' },
      remembers: 'none',
    }),
    next: 'done, success',
  },
  {
    row: 'C33',
    given: 'not saved',
    state: state({
      ...attempted,
      created: made,
      saved: { row: 'S8', kind: 'later', cause: new Error('x') },
      remembers: 'saving',
    }),
    next: 'protect',
  },
  {
    row: 'C33',
    given: 'not saved, protected',
    state: state(
      { ...attempted, created: made, saved: { row: 'S8', kind: 'later', cause: new Error('x') }, remembers: 'saving' },
      protection,
    ),
    next: 'done, success',
  },
  {
    row: 'C34',
    given: 'taken',
    state: state({ ...attempted, created: made, saved: { row: 'S4', kind: 'taken', message: 'theirs' } }),
    next: 'settle',
  },
  {
    row: 'C34',
    given: 'taken, settled',
    state: state({
      ...attempted,
      created: made,
      saved: { row: 'S4', kind: 'taken', message: 'theirs' },
      remembers: 'none',
    }),
    next: 'retry, Warning: theirs, failure',
  },
  {
    row: 'C35',
    given: 'refused',
    state: state({ ...attempted, created: made, saved: { row: 'S7', kind: 'refused', message: 'bad' } }),
    next: 'protect',
  },
  {
    row: 'C35',
    given: 'refused, protected',
    state: state({ ...attempted, created: made, saved: { row: 'S7', kind: 'refused', message: 'bad' } }, protection),
    next: 'retry, Warning: bad, failure',
  },
];

/** Rows whose conditions differ from those above in one part. */
const neighbours: readonly Row[] = [
  {
    row: 'C24',
    given: 'infeasible, the class is gone',
    state: state({ ...attempted, created: infeasible, storageClass: undefined }),
    next: 'settle',
  },
  {
    row: 'C25',
    given: 'full, with a selected node, after a released request',
    state: state({ ...attempted, created: full, remembers: 'open' }, { node: 'n1' }),
    next: 'settle',
  },
  {
    row: 'C27',
    given: 'malformed, deleting',
    state: state({ ...attempted, created: malformed }, settling),
    next: `retry, Warning: odd${kept}, failure, open answer`,
  },
  {
    row: 'C30',
    given: 'too small, not cleaned up, deleting',
    state: state({ ...attempted, created: unusable, cleanedUp: { failure: 'busy', isOpen: false } }, settling),
    next: expect.stringMatching(/^retry, Warning: small.*, failure, open answer$/s) as string,
  },
  {
    row: 'C35',
    given: 'refused, deleting',
    state: state({ ...attempted, created: made, saved: { row: 'S7', kind: 'refused', message: 'bad' } }, settling),
    next: `retry, Warning: bad${kept}, failure, open answer`,
  },
];

it('given a volume that was made without a pinned request, when decided, then it is a defect', () => {
  const given = state({ ...attempted, created: made, remembers: 'none' });
  expect(() => decide(given, context)).toThrow('a volume was made without a pinned request');
});

it('given a volume that is too small, when decided, then it is deleted with the secrets of its request', () => {
  const secrets = { key: 'x' };
  const sent = { ...pinned, request: { ...pinned.request, secrets } };
  expect(decide(state({ ...attempted, created: unusable, pinned: sent }), context)).toMatchObject({ secrets });
  expect(decide(state({ ...attempted, created: unusable }), context)).toMatchObject({ secrets: {} });
});

describe('what a conclusion says about the capacity of the storage', () => {
  const saved = { row: 'S1', kind: 'saved', claim: 'there' } as const;
  const capacityAfter = (facts: StateFacts, supportsTopology = true): unknown => {
    const action = decide(state(facts), { ...context, supportsTopology });
    return action.kind === 'conclude' ? action.capacity : action.kind;
  };

  it('given no call, then nothing is known about the capacity', () => {
    expect(capacityAfter({ presence: 'gone' })).toEqual({ row: 'H4', kind: 'none' });
  });

  it('given a call that made no volume, then the class is asked for again', () => {
    const change = { row: 'H3', kind: 'class', className: 'fast' };
    expect(capacityAfter({ ...attempted, created: final, remembers: 'none' })).toEqual(change);
    expect(capacityAfter({ ...attempted, created: unusable, cleanedUp: 'yes', remembers: 'none' })).toEqual(change);
  });

  it('given a volume that was made, then its topology is asked for again, or its class if it has none', () => {
    const accessible_topology = [{ segments: { zone: 'a' } }];
    const created = { ...made, volume: { ...made.volume, accessible_topology } };
    const recorded = { ...attempted, saved, remembers: 'none' } as const;
    const matchExpressions = [{ key: 'zone', operator: 'In', values: ['a'] }];
    expect(capacityAfter({ ...recorded, created })).toEqual({
      row: 'H1',
      kind: 'segments',
      affinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } },
    });
    const change = { row: 'H2', kind: 'class', className: 'fast' };
    expect([capacityAfter({ ...recorded, created: made }), capacityAfter({ ...recorded, created }, false)]).toEqual([
      change,
      change,
    ]);
  });
});

describe('a claim without a bound', () => {
  it('[provisioner#P9] given --provisioning-protection=always, after any number of answers, then the claim is kept, and the event says how to give it up', () => {
    const always = { ...context, settings: { ...context.settings, provisioningProtection: 'always' as const } };
    const given = state(
      { ...attempted, created: ambiguous, answers: ['open', 'open', 'open'], deletedForMs: 9e9 },
      settling,
    );
    expect(show(decide(given, always))).toBe(
      `retry, Warning: late${kept.replace(' for some minutes', '')}, failure, open answer`,
    );
  });
});

describe('the claim table', () => {
  it.each(neighbours)('$row: given $given, when decided, then $next', ({ row, state, next }) => {
    const action = decide(state, context);
    expect([action.row, show(action)]).toEqual([row, next]);
  });

  it.each(rows)('$row: given $given, when decided, then $next', ({ row, state, next }) => {
    const action = decide(state, context);
    expect([action.row, show(action)]).toEqual([row, next]);
  });
});

it('given a volume that is too small and a request without secrets, when decided, then it is deleted without secrets', () => {
  const action = decide(state({ ...attempted, created: unusable }), context);
  expect(action).toEqual({ row: 'C28', kind: 'cleanUp', volume: unusable, secrets: {} });
});

it('[O11] given a volume of which no record can be made, when decided, then it is deleted as the driver described it', () => {
  const driver = { ...context.driver, name: 'ebs.csi.aws.com' };
  const storageClass = aClass({ provisioner: 'kubernetes.io/aws-ebs' });
  const volume = { ...made.volume, volume_context: { partition: 'odd' } };
  const sent = { ...pinned, plan: { ...pinned.plan, storageClass, isMigrated: true } };
  const given = state({ ...attempted, created: { ...made, volume }, pinned: sent });
  expect(decide(given, { ...context, driver })).toMatchObject({
    row: 'C28',
    kind: 'cleanUp',
    volume: { row: 'O11', kind: 'unusable', volumeId: 'v1', attributes: { partition: 'odd' } },
  });
});
