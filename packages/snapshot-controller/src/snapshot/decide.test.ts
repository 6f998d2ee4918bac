// SPDX-License-Identifier: Apache-2.0
import { ApiError, TransportError } from '@csi-sidecars/runtime';
/** One line for each row of the tables of snapshots. */
import { snapshotAnnotations, snapshotFinalizers as finalizers } from '@csi-sidecars/volume';
import { describe, expect, it } from 'vitest';
import {
  aClaim,
  aContent,
  aGroup,
  aProtectedClaim,
  aSnapshot,
  aStaticContent,
  aStaticSnapshot,
  withoutClass,
} from '../../testing/builders.ts';
import {
  aSnapshotState,
  bound,
  contentName,
  deleting,
  failed,
  owner,
  prepared,
  ready,
} from '../../testing/snapshot-states.ts';
import { decide } from './decide.ts';
import type { SnapshotState } from './state.ts';

const unanswered = { failure: new TransportError('timeout', 'no answer') };
const timedOut = { failure: new ApiError({ status: 504, reason: 'Timeout', message: 'late' }) };
const name = contentName;
const snapshot = aSnapshot({ metadata: prepared });
const protectedClaim = aProtectedClaim();
const base = aSnapshotState();

interface Line {
  readonly id: string;
  readonly given: string;
  readonly s: Partial<SnapshotState>;
  /** The kind of the action; for a conclusion its outcome. */
  readonly then: string;
}

function decided(s: Partial<SnapshotState>): string {
  const action = decide({ ...base, ...s }, { recordVolumeMode: true, groups: true });
  const what = action.kind === 'conclude' ? action.outcome.kind : action.kind;
  return `[snapshot-controller#${action.row}] ${what}`;
}

const staticSnapshot = aStaticSnapshot({ metadata: { finalizers: [finalizers.asSource, finalizers.bound] } });
const boundStatic = aStaticContent({
  spec: { volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' } },
});
const member = withoutClass(aSnapshot({ metadata: { ...prepared, ownerReferences: [owner] } }));
const readySnapshot = aSnapshot({ metadata: prepared, status: ready });
const isReady = { snapshot: readySnapshot, content: aContent(), claim: aClaim() };

describe('rows S1 to S21', () => {
  it.each<Line>([
    { id: '[snapshot-controller#S1]', given: 'no snapshot', s: { snapshot: undefined }, then: 'done' },
    {
      id: '[snapshot-controller#S2]',
      given: 'no source',
      s: { snapshot: aSnapshot({ spec: { source: {} } }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S2]',
      given: 'no source, reported',
      s: { snapshot: aSnapshot({ spec: { source: {} } }), errorSaved: 'done' },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S2]',
      given: 'no source, not written',
      s: { snapshot: aSnapshot({ spec: { source: {} } }), errorSaved: failed },
      then: 'retry',
    },
    { id: '[snapshot-controller#S3]', given: 'a run that has just begun', s: { isBegun: false }, then: 'begin' },
    { id: '[snapshot-controller#S4]', given: 'no such class', s: { classes: [] }, then: 'saveError' },
    {
      id: '[snapshot-controller#S4]',
      given: 'no such class of a ready snapshot, reported',
      s: { ...isReady, classes: [], errorSaved: 'done' },
      then: 'done',
    },
    {
      id: '[snapshot-controller#S16]',
      given: 'no such class, but a content',
      s: { classes: [], content: aContent() },
      then: 'saveStatus',
    },
    {
      id: '[snapshot-controller#S5]',
      given: 'no default class',
      s: { snapshot: withoutClass(snapshot) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S6]',
      given: 'an empty name of the content',
      s: { snapshot: aStaticSnapshot({ spec: { source: { volumeSnapshotContentName: '' } } }) },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S7]',
      given: 'a dynamic content of a static snapshot',
      s: { snapshot: staticSnapshot, content: aContent() },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S7]',
      given: 'a static content of a dynamic snapshot',
      s: { content: boundStatic },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S8]',
      given: 'a content of another snapshot',
      s: { content: aContent({ of: aSnapshot({ uid: 'x' }), name }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S8]',
      given: 'a member that names the content of another snapshot',
      s: {
        snapshot: { ...member, status: bound },
        content: aContent({ of: aSnapshot({ uid: 'x' }), name }),
      },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S9]',
      given: 'both handles',
      s: { content: aContent({ spec: { source: { volumeHandle: 'x', snapshotHandle: 'y' } } }) },
      then: 'saveError',
    },
    { id: '[snapshot-controller#S10]', given: 'no finalizers', s: { snapshot: aSnapshot() }, then: 'prepare' },
    {
      id: '[snapshot-controller#S10]',
      given: 'that failed',
      s: { snapshot: aSnapshot(), prepared: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S11]',
      given: 'a creation time, and no content in the cache',
      s: {
        snapshot: aSnapshot({ metadata: prepared, status: { ...bound, creationTime: 'x' } }),
        contentAsked: 'unasked',
      },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#S11]',
      given: 'a creation time and no content',
      s: { snapshot: aSnapshot({ metadata: prepared, status: { ...bound, creationTime: 'x' } }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S12]',
      given: 'a snapshot that an earlier run prepared',
      s: { confirmed: 'untried' },
      then: 'confirm',
    },
    {
      id: '[snapshot-controller#S12]',
      given: 'a snapshot that an earlier run prepared, and that cannot be read',
      s: { confirmed: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S12]',
      given: 'a snapshot that this run prepared',
      s: { prepared: 'done', confirmed: 'untried' },
      then: 'createContent',
    },
    {
      id: '[snapshot-controller#S12]',
      given: 'a claim without our finalizer',
      s: { claim: aClaim() },
      then: 'protectClaim',
    },
    {
      id: '[snapshot-controller#S12]',
      given: 'a claim without our finalizer that is being deleted',
      s: { claim: aClaim({ deleting: 'yes' }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S12]',
      given: 'a claim without our finalizer that is not bound',
      s: { claim: aClaim({ phase: 'Pending' }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S12]',
      given: 'a claim that is being released',
      s: { isClaimBeingReleased: true },
      then: 'requeueAfter',
    },
    { id: '[snapshot-controller#S12]', given: 'a protected claim', s: {}, then: 'createContent' },
    { id: '[snapshot-controller#S12]', given: 'a refused creation', s: { created: failed }, then: 'saveError' },
    {
      id: '[snapshot-controller#S12]',
      given: 'a claim that could not be protected',
      s: { claim: aClaim(), claimProtected: failed },
      then: 'saveError',
    },
    { id: '[snapshot-controller#S13]', given: 'a member without a content', s: { snapshot: member }, then: 'postpone' },
    {
      id: '[snapshot-controller#S14]',
      given: 'a static snapshot without a content',
      s: { snapshot: staticSnapshot },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S14]',
      given: 'a ready snapshot without a content in the cache',
      s: { snapshot: readySnapshot, claim: aClaim(), contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#S14]',
      given: 'a question that failed',
      s: { snapshot: readySnapshot, claim: aClaim(), contentAsked: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S14]',
      given: 'a ready snapshot without a content, reported',
      s: { snapshot: readySnapshot, claim: aClaim(), errorSaved: 'done' },
      then: 'done',
    },
    {
      id: '[snapshot-controller#S15]',
      given: 'a content without UID',
      s: { snapshot: staticSnapshot, content: aStaticContent() },
      then: 'bind',
    },
    {
      id: '[snapshot-controller#S15]',
      given: 'that failed',
      s: { snapshot: staticSnapshot, content: aStaticContent(), bound: failed },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S16]',
      given: 'a status that says less than the content',
      s: { content: aContent() },
      then: 'saveStatus',
    },
    {
      id: '[snapshot-controller#S16]',
      given: 'a group that is not known',
      s: { content: aContent({ status: { volumeGroupSnapshotHandle: 'g' } }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S16]',
      given: 'that failed',
      s: { content: aContent(), statusSaved: failed },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S16]',
      given: 'that got no answer',
      s: { content: aContent(), statusSaved: unanswered },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S16]',
      given: 'that ran into a timeout of the API server',
      s: { content: aContent(), statusSaved: timedOut },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S17]',
      given: 'a written status',
      s: { content: aContent(), statusSaved: 'done' },
      then: 'done',
    },
    {
      id: '[snapshot-controller#S17]',
      given: 'a status that says it all',
      s: { content: aContent(), snapshot: aSnapshot({ metadata: prepared, status: bound }) },
      then: 'done',
    },
    {
      id: '[snapshot-controller#S21]',
      given: 'a ready snapshot and a protected claim that another snapshot uses',
      s: { ...isReady, claim: protectedClaim, isClaimInUse: true },
      then: 'done',
    },
    {
      id: '[snapshot-controller#S18]',
      given: 'a ready snapshot and a protected claim',
      s: { ...isReady, claim: protectedClaim },
      then: 'releaseClaim',
    },
    {
      id: '[snapshot-controller#S19]',
      given: 'another name that is bound to another snapshot',
      s: { ...isReady, content: aContent({ of: aSnapshot({ uid: 'x' }), name: 'x' }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S20]',
      given: 'a group in the status only',
      s: {
        ...isReady,
        snapshot: aSnapshot({ metadata: prepared, status: { ...ready, volumeGroupSnapshotName: 'group' } }),
        group: aGroup(),
      },
      then: 'adopt',
    },
    {
      id: '[snapshot-controller#S20]',
      given: 'a group that is gone',
      s: {
        ...isReady,
        snapshot: aSnapshot({ metadata: prepared, status: { ...ready, volumeGroupSnapshotName: 'group' } }),
        group: 'gone',
      },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#S20]',
      given: 'that failed',
      s: {
        ...isReady,
        snapshot: aSnapshot({ metadata: prepared, status: { ...ready, volumeGroupSnapshotName: 'group' } }),
        group: aGroup(),
        adopted: failed,
      },
      then: 'retry',
    },
    { id: '[snapshot-controller#S21]', given: 'a ready snapshot', s: isReady, then: 'done' },
    {
      id: '[snapshot-controller#S21]',
      given: 'a ready snapshot whose claim could not be released',
      s: { ...isReady, claim: protectedClaim, claimReleased: failed },
      then: 'retry',
    },
  ])('$id given $given, then $then', ({ id, s, then }) => {
    expect(decided(s)).toBe(`${id} ${then}`);
  });
});

describe('a ready snapshot whose content is not bound to it', () => {
  const status = { boundVolumeSnapshotContentName: 'content', readyToUse: true };
  const isReadyStatic = { snapshot: { ...staticSnapshot, status }, claim: undefined };
  const withoutUid = { name: 'snap', namespace: 'team' };

  it.each<Line>([
    {
      id: '[snapshot-controller#S19]',
      given: 'a static content without a UID',
      s: { ...isReadyStatic, content: aStaticContent({ spec: { volumeSnapshotRef: withoutUid } }) },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S8]',
      given: 'a static content of another snapshot',
      s: {
        ...isReadyStatic,
        content: aStaticContent({ spec: { volumeSnapshotRef: { ...withoutUid, uid: 'another' } } }),
      },
      then: 'saveError',
    },
    {
      id: '[snapshot-controller#S8]',
      given: 'a dynamic content without a UID',
      s: { ...isReady, content: aContent({ spec: { volumeSnapshotRef: withoutUid } }) },
      then: 'saveError',
    },
  ])('$id given $given, then $then', ({ id, s, then }) => {
    expect(decided(s)).toBe(`${id} ${then}`);
  });
});

it.each([
  { when: 'an earlier run', created: 'untried', readiness: 'notReady' },
  { when: 'this run', created: 'done', readiness: 'kept' },
] as const)(
  'given a content of $when, when its status cannot be saved, then the readiness of the snapshot is $readiness',
  ({ created, readiness }) => {
    const s = { ...base, content: aContent(), statusSaved: failed, created };
    const action = decide(s, { recordVolumeMode: true, groups: true });
    expect(action).toMatchObject({ row: 'S16', kind: 'saveError', problem: { readiness } });
  },
);

describe('rows D1 to D10', () => {
  const leaving = aSnapshot({ metadata: { ...prepared, ...deleting }, status: ready });
  const unbound = aSnapshot({ metadata: { ...prepared, ...deleting } });
  const leavingStatic = aStaticSnapshot({ metadata: { ...prepared, ...deleting } });
  const waiting = aSnapshot({ metadata: { finalizers: [finalizers.bound], ...deleting }, status: ready });
  const marked = { annotations: { [snapshotAnnotations.beingDeleted]: 'yes' } };
  const leavingMember = aSnapshot({ metadata: { ...prepared, ...deleting, ownerReferences: [owner] }, status: ready });
  const going = aContent({ metadata: { ...marked, ...deleting } });
  const inRestore = aSnapshot({
    metadata: { ...deleting, finalizers: [finalizers.asSource, finalizers.restored] },
    status: ready,
  });

  it.each<Line>([
    { id: '[snapshot-controller#D1]', given: 'a run that has just begun', s: { isBegun: false }, then: 'begin' },
    {
      id: '[snapshot-controller#D2]',
      given: 'none of our finalizers',
      s: { snapshot: aSnapshot({ metadata: { ...deleting, finalizers: ['a/b'] } }) },
      then: 'done',
    },
    {
      id: '[snapshot-controller#D3]',
      given: 'no status, and no content that is known',
      s: { snapshot: unbound, contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#D3]',
      given: 'a status that names a content that is not known, and as-source',
      s: { snapshot: leaving, contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#D3]',
      given: 'a static content that is shown as not bound',
      s: { snapshot: leavingStatic, content: aStaticContent(), contentAsked: 'unasked' },
      then: 'askContent',
    },
    {
      id: '[snapshot-controller#D10]',
      given: 'bound without as-source, and a content that is on its way',
      s: { snapshot: waiting, content: going, claim: aClaim(), contentAsked: 'unasked' },
      then: 'done',
    },
    {
      id: '[snapshot-controller#D8]',
      given: 'bound without as-source, and no content any more',
      s: { snapshot: waiting, contentAsked: 'unasked' },
      then: 'releaseClaim',
    },
    {
      id: '[snapshot-controller#D3]',
      given: 'a question that failed',
      s: { snapshot: unbound, contentAsked: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D4]',
      given: 'a restore',
      s: { content: aContent(), isBeingRestored: true },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D11]',
      given: 'a snapshot that csi-provisioner protects',
      s: { snapshot: inRestore, content: aContent() },
      then: 'listRestores',
    },
    {
      id: '[snapshot-controller#D5]',
      given: 'a group',
      s: { snapshot: leavingMember, group: aGroup() },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D5]',
      given: 'a group that is not watched',
      s: { snapshot: leavingMember, group: 'unknown' },
      then: 'askGroup',
    },
    {
      id: '[snapshot-controller#D5]',
      given: 'a group that was asked for and is there',
      s: { snapshot: leavingMember, group: 'unknown', groupAsked: { value: true } },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D5]',
      given: 'a question that failed',
      s: { snapshot: leavingMember, group: 'unknown', groupAsked: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D6]',
      given: 'a content that is not marked',
      s: { content: aContent() },
      then: 'markContent',
    },
    {
      id: '[snapshot-controller#D6]',
      given: 'that failed',
      s: { content: aContent(), contentMarked: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D7]',
      given: 'a marked content',
      s: { content: aContent({ metadata: marked }) },
      then: 'deleteContent',
    },
    {
      id: '[snapshot-controller#D7]',
      given: 'that failed',
      s: { content: aContent({ metadata: marked }), contentDeleted: failed },
      then: 'retry',
    },
    { id: '[snapshot-controller#D8]', given: 'a protected claim', s: { content: going }, then: 'releaseClaim' },
    {
      id: '[snapshot-controller#D8]',
      given: 'that failed',
      s: { content: going, claimReleased: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D9]',
      given: 'a claim in use',
      s: { content: going, isClaimInUse: true },
      then: 'removeFinalizers',
    },
    {
      id: '[snapshot-controller#D9]',
      given: 'that failed',
      s: { content: going, isClaimInUse: true, finalizersRemoved: failed },
      then: 'retry',
    },
    {
      id: '[snapshot-controller#D10]',
      given: 'only the finalizer that waits for the content',
      s: {
        content: going,
        isClaimInUse: true,
        snapshot: aSnapshot({ metadata: { ...deleting, finalizers: [finalizers.bound] }, status: ready }),
      },
      then: 'done',
    },
  ])('$id given $given, then $then', ({ id, s, then }) => {
    expect(decided({ snapshot: leaving, ...s })).toBe(`${id} ${then}`);
  });

  it('given a snapshot whose deletion begins after the run has begun to prepare it, then the rows of the deletion count', () => {
    const action = decide({ ...base, snapshot: leaving, prepared: 'done' }, { recordVolumeMode: true, groups: true });
    expect(action.row).toBe('D8');
  });
});
