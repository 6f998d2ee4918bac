// SPDX-License-Identifier: Apache-2.0
/** Each action of the loops over snapshots and groups alone: its request, which can be cancelled, and what it does after a conflict. */
import type { EventRecorder, KubeObject } from '@csi-sidecars/runtime';
import {
  snapshotFinalizers,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import {
  aClaim,
  aContent,
  aGroup,
  aGroupContent,
  aProtectedClaim,
  aSnapshot,
  aStaticContent,
  aVolume,
  someSettings,
} from '../testing/builders.ts';
import { learnedInSilence, performed } from '../testing/single-step.ts';
import { owner, prepared } from '../testing/snapshot-states.ts';
import type { Member } from './group-snapshot/members.ts';
import { performers as groupPerformers } from './group-snapshot/perform.ts';
import { invalidSource as invalidGroupSource } from './group-snapshot/messages.ts';
import type { Action as GroupAction, GroupContext, GroupState } from './group-snapshot/state.ts';
import { createClaimReleases } from './snapshot/claim-releases.ts';
import { createClaimTurns } from './snapshot/claim-turns.ts';
import { invalidSource } from './snapshot/messages.ts';
import { performers as snapshotPerformers } from './snapshot/perform.ts';
import type { Action as SnapshotAction, SnapshotContext, SnapshotState } from './snapshot/state.ts';

const events: EventRecorder = { record: () => undefined, flush: () => Promise.resolve() };
const operations: SnapshotContext['operations'] = {
  start: () => undefined,
  succeed: () => false,
  gone: () => undefined,
};
const context: SnapshotContext & GroupContext = {
  settings: someSettings(),
  events,
  operations,
  releases: createClaimReleases(),
  claimTurns: createClaimTurns(),
};

interface Case<Action, State, T> {
  readonly action: (cached: T) => Exclude<Action, { readonly kind: 'conclude' }>;
  /** The result of the action is learned here. */
  readonly result: keyof State & string;
  /** The object as it is stored then is learned here. */
  readonly object?: keyof State & string;
}
type SnapshotCase<T> = Case<SnapshotAction, SnapshotState, T>;
type GroupCase<T> = Case<GroupAction, GroupState, T>;

const row = 'S1';
const snapshot = aSnapshot({ metadata: { finalizers: [snapshotFinalizers.bound] } });
const content = aContent();
const claim = aProtectedClaim({ metadata: { finalizers: [snapshotFinalizers.claim], resourceVersion: '1' } });
const preparation = { finalizers: [snapshotFinalizers.asSource], className: undefined };
const facts = {
  readyToUse: true,
  creationTime: undefined,
  restoreSize: undefined,
  error: undefined,
  groupName: undefined,
};

const ofSnapshots: readonly SnapshotCase<VolumeSnapshot>[] = [
  {
    action: (known) => ({ row, kind: 'prepare', snapshot: known, preparation }),
    result: 'prepared',
    object: 'snapshot',
  },
  { action: (known) => ({ row, kind: 'saveStatus', snapshot: known, content, facts }), result: 'statusSaved' },
  { action: (known) => ({ row, kind: 'saveError', object: known, problem: invalidSource }), result: 'errorSaved' },
  { action: (known) => ({ row, kind: 'adopt', snapshot: known, group: aGroup() }), result: 'adopted' },
  {
    action: (known) => ({ row, kind: 'removeFinalizers', snapshot: known, finalizers: prepared.finalizers }),
    result: 'finalizersRemoved',
  },
];
const ofContents: readonly SnapshotCase<VolumeSnapshotContent>[] = [
  { action: (known) => ({ row, kind: 'bind', snapshot, content: known }), result: 'bound', object: 'content' },
  {
    action: (known) => ({ row, kind: 'markContent', snapshot, content: known }),
    result: 'contentMarked',
    object: 'content',
  },
  {
    action: (known) => ({ row, kind: 'deleteContent', snapshot, content: known }),
    result: 'contentDeleted',
    object: 'content',
  },
];

const group = aGroup({
  metadata: { finalizers: [snapshotFinalizers.groupBound] },
  spec: { volumeGroupSnapshotClassName: undefined as never },
});
const groupContent = aGroupContent();
const groupFacts = { readyToUse: true, creationTime: undefined, error: undefined };
const member = aSnapshot({ name: 'member', metadata: { ownerReferences: [owner] } });
const incomplete: Member = {
  group,
  groupContent,
  info: { volumeHandle: 'handle-1', snapshotHandle: 's1' },
  volume: aVolume(),
  snapshot: undefined,
  content: undefined,
};

const ofGroups: readonly GroupCase<VolumeGroupSnapshot>[] = [
  {
    action: (known) => ({ row, kind: 'prepare', group: known, className: 'std' }),
    result: 'prepared',
    object: 'group',
  },
  {
    action: (known) => ({ row, kind: 'saveStatus', group: known, content: groupContent, facts: groupFacts }),
    result: 'statusSaved',
  },
  { action: (known) => ({ row, kind: 'saveError', object: known, problem: invalidGroupSource }), result: 'errorSaved' },
  { action: (known) => ({ row, kind: 'removeFinalizer', group: known }), result: 'finalizersRemoved' },
];
const ofGroupContents: readonly GroupCase<VolumeGroupSnapshotContent>[] = [
  { action: (known) => ({ row, kind: 'bind', group, content: known }), result: 'bound', object: 'content' },
  {
    action: (known) => ({ row, kind: 'markContent', group, content: known }),
    result: 'contentMarked',
    object: 'content',
  },
  {
    action: (known) => ({ row, kind: 'deleteContent', group, content: known }),
    result: 'contentDeleted',
    object: 'content',
  },
];

/** An action on an object that the API server has, of either loop. */
interface StoredCase extends Case<{ readonly row: string; readonly kind: string }, Record<string, unknown>, never> {
  readonly what: string;
  readonly kind: string;
  readonly performers: object;
  readonly stored: KubeObject;
  /** `volumesnapshots` */
  readonly resource: string;
}

function casesOf<Action extends { readonly row: string; readonly kind: string }, State, T extends KubeObject>(
  about: Pick<StoredCase, 'what' | 'performers' | 'resource'> & { readonly stored: T },
  cases: readonly Case<Action, State, T>[],
): readonly StoredCase[] {
  return cases.map((each) => ({ ...about, ...each, kind: each.action(about.stored).kind }));
}

const ofSnapshotLoop = { performers: snapshotPerformers(context) };
const ofGroupLoop = { performers: groupPerformers(context) };
const storedCases: readonly StoredCase[] = [
  ...casesOf({ ...ofSnapshotLoop, what: 'snapshot', stored: snapshot, resource: 'volumesnapshots' }, ofSnapshots),
  ...casesOf({ ...ofSnapshotLoop, what: 'content', stored: content, resource: 'volumesnapshotcontents' }, ofContents),
  ...casesOf({ ...ofGroupLoop, what: 'group', stored: group, resource: 'volumegroupsnapshots' }, ofGroups),
  ...casesOf(
    {
      ...ofGroupLoop,
      what: 'content of a group',
      stored: groupContent,
      resource: 'volumegroupsnapshotcontents',
    },
    ofGroupContents,
  ),
];

interface SilentCase {
  readonly what: string;
  readonly performers: object;
  readonly action: { readonly row: string; readonly kind: string };
  readonly result: string;
}
const silentCases: readonly SilentCase[] = [
  ...storedCases.map(({ what, performers, action, stored, result }) => ({
    what,
    performers,
    action: action(stored as never),
    result,
  })),
  ...(
    [
      {
        action: { row, kind: 'protectClaim', claim: aClaim({ metadata: { resourceVersion: '1' } }) },
        result: 'claimProtected',
      },
      { action: { row, kind: 'releaseClaim', claim, snapshot }, result: 'claimReleased' },
      { action: { row, kind: 'confirm', object: snapshot }, result: 'confirmed' },
      { action: { row, kind: 'createContent', snapshot, content }, result: 'created' },
      { action: { row, kind: 'askContent', name: 'content' }, result: 'contentAsked' },
      { action: { row, kind: 'askGroup', namespace: 'team', name: 'group' }, result: 'groupAsked' },
    ] satisfies readonly { readonly action: SnapshotAction; readonly result: keyof SnapshotState }[]
  ).map((each) => ({ what: 'snapshot', ...ofSnapshotLoop, ...each })),
  ...(
    [
      { action: { row, kind: 'listClaims', group }, result: 'sources' },
      { action: { row, kind: 'confirm', object: group }, result: 'confirmed' },
      { action: { row, kind: 'createContent', group, content: groupContent }, result: 'created' },
      { action: { row, kind: 'askContent', name: 'content' }, result: 'contentAsked' },
      { action: { row, kind: 'deleteMembers', group, members: [member] }, result: 'membersDeleted' },
      { action: { row, kind: 'saveMembers', members: [incomplete] }, result: 'membersSaved' },
    ] satisfies readonly { readonly action: GroupAction; readonly result: keyof GroupState }[]
  ).map((each) => ({ what: 'group', ...ofGroupLoop, ...each })),
];

it.each(silentCases)(
  'given an API server that is silent, when the process must stop during $action.kind of a $what, then the request is cancelled, and $result is the failure',
  async ({ performers, action, result }) => {
    const cancelled = { requests: 1, learned: { [result]: 'aborted' } };
    expect(await learnedInSilence(performers, action)).toEqual(cancelled);
  },
);

it.each(storedCases)(
  'given a $what that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ performers, stored, resource, kind, action, result, object }) => {
    const [beside, read] = kind === 'adopt' ? [[group], ['get volumegroupsnapshots 200']] : [[], []];
    const outdated = { object: stored, cache: 'outdated', beside } as const;
    const { learned, requests, remembered } = await performed(performers, outdated, action as never);
    const verb = kind === 'deleteContent' ? 'delete' : 'patch';
    const write = `${verb} ${resource}${kind === 'saveStatus' || kind === 'saveError' ? '/status' : ''}`;
    expect(requests).toEqual([...read, `${write} 409`, `get ${resource} 200`, `${write} 200`]);
    expect(remembered).toMatchObject({ kind: stored.kind, metadata: { labels: { changed: 'yes' } } });
    expect(learned).toEqual({ [result]: 'done', ...(object === undefined ? {} : { [object]: remembered }) });
  },
);

it.each<{
  readonly what: string;
  readonly performersOf: (reporting: SnapshotContext & GroupContext) => object;
  readonly object: KubeObject;
  readonly action: (known: never) => SnapshotAction | GroupAction;
  readonly reason: string;
}>([
  {
    what: 'snapshot',
    performersOf: snapshotPerformers,
    object: snapshot,
    action: (known) => ({ row, kind: 'saveStatus', snapshot: known, content, facts }),
    reason: 'SnapshotReady',
  },
  {
    what: 'group',
    performersOf: groupPerformers,
    object: group,
    action: (known) => ({ row, kind: 'saveStatus', group: known, content: groupContent, facts: groupFacts }),
    reason: 'GroupSnapshotReady',
  },
])(
  'given a status of a $what that is saved, then what is new in it is reported about the $what as it is stored',
  async ({ performersOf, object, action, reason: expected }) => {
    const recorded: unknown[] = [];
    const reporting = {
      ...context,
      events: {
        ...events,
        record: (about: unknown, { reason }: { readonly reason: string }) => void recorded.push([about, reason]),
      },
      operations: { ...operations, succeed: () => true },
    };
    const { remembered } = await performed(performersOf(reporting), { object }, action as never);
    expect(recorded).toEqual([[remembered, expected]]);
  },
);

const volumeGroupSnapshotRef = { name: 'group', namespace: 'team' };

it.each<{
  readonly what: string;
  readonly performers: object;
  readonly object: KubeObject;
  readonly action: (known: never) => SnapshotAction | GroupAction;
  readonly then: object;
}>([
  {
    what: 'content',
    ...ofSnapshotLoop,
    object: aStaticContent(),
    action: (known) => ({ row, kind: 'bind', snapshot, content: known }),
    then: {
      metadata: { finalizers: [snapshotFinalizers.content] },
      spec: {
        volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' },
        volumeSnapshotClassName: 'gold',
      },
    },
  },
  {
    what: 'content of a group',
    ...ofGroupLoop,
    object: aGroupContent({
      metadata: { finalizers: [] },
      spec: { volumeGroupSnapshotRef, volumeGroupSnapshotClassName: undefined as never },
    }),
    action: (known) => ({ row, kind: 'bind', group: aGroup(), content: known }),
    then: {
      metadata: { finalizers: [snapshotFinalizers.groupContent] },
      spec: {
        volumeGroupSnapshotRef: { ...volumeGroupSnapshotRef, uid: 'uid-of-group' },
        volumeGroupSnapshotClassName: 'group-gold',
      },
    },
  },
])(
  'given a $what without UID, class and finalizer, when it is bound, then it gets all three',
  async ({ performers, object, action, then }) => {
    const { remembered } = await performed(performers, { object }, action as never);
    expect(remembered).toMatchObject(then);
  },
);

it.each<{
  readonly what: string;
  readonly performers: object;
  readonly object: KubeObject;
  readonly action: (known: never) => SnapshotAction | GroupAction;
}>([
  {
    what: 'content',
    ...ofSnapshotLoop,
    object: aContent({ metadata: { finalizers: [] } }),
    action: (known) => ({ row, kind: 'deleteContent', snapshot, content: known }),
  },
  {
    what: 'content of a group',
    ...ofGroupLoop,
    object: aGroupContent({ metadata: { finalizers: [] } }),
    action: (known) => ({ row, kind: 'deleteContent', group, content: known }),
  },
])(
  'given a $what that is deleted and has no finalizer, then what is learned is the content that was deleted',
  async ({ performers, object, action }) => {
    let deleted: unknown;
    const { learned } = await performed(performers, { object }, (known) => {
      deleted = known;
      return action(known as never);
    });
    expect(learned).toEqual({ contentDeleted: 'done', content: deleted });
  },
);

interface LearnedCase<Action> {
  readonly what: string;
  readonly object: KubeObject;
  readonly action: Action;
  readonly learned: (stored: unknown) => object;
}
const learnedOfSnapshots: readonly LearnedCase<SnapshotAction>[] = [
  {
    what: 'a snapshot is confirmed',
    object: snapshot,
    action: { row, kind: 'confirm', object: snapshot },
    learned: (stored) => ({ confirmed: 'done', snapshot: stored }),
  },
  {
    what: 'a content is created',
    object: snapshot,
    action: { row, kind: 'createContent', snapshot, content },
    learned: (stored) => ({ created: 'done', content: stored }),
  },
  {
    what: 'a content is looked for that is there',
    object: content,
    action: { row, kind: 'askContent', name: content.metadata?.name ?? '' },
    learned: (stored) => ({ contentAsked: { value: stored }, content: stored }),
  },
  {
    what: 'a content is looked for that is not there',
    object: content,
    action: { row, kind: 'askContent', name: 'another' },
    learned: () => ({ contentAsked: { value: undefined }, content: undefined }),
  },
  {
    what: 'a group is looked for that is there',
    object: aGroup(),
    action: { row, kind: 'askGroup', namespace: 'team', name: 'group' },
    learned: () => ({ groupAsked: { value: true } }),
  },
  {
    what: 'a group is looked for that is not there',
    object: aGroup(),
    action: { row, kind: 'askGroup', namespace: 'elsewhere', name: 'group' },
    learned: () => ({ groupAsked: { value: false } }),
  },
];
const learnedOfGroups: readonly LearnedCase<GroupAction>[] = [
  {
    what: 'a group is confirmed',
    object: group,
    action: { row, kind: 'confirm', object: group },
    learned: (stored) => ({ confirmed: 'done', group: stored }),
  },
  {
    what: 'a content of a group is created',
    object: group,
    action: { row, kind: 'createContent', group, content: groupContent },
    learned: (stored) => ({ created: 'done', content: stored }),
  },
  {
    what: 'a content of a group is looked for that is there',
    object: groupContent,
    action: { row, kind: 'askContent', name: groupContent.metadata?.name ?? '' },
    learned: (stored) => ({ contentAsked: { value: stored }, content: stored }),
  },
  {
    what: 'a content of a group is looked for that is not there',
    object: groupContent,
    action: { row, kind: 'askContent', name: 'another' },
    learned: () => ({ contentAsked: { value: undefined }, content: undefined }),
  },
  {
    what: 'members are saved',
    object: group,
    action: { row, kind: 'saveMembers', members: [incomplete] },
    learned: () => ({ membersSaved: 'done' }),
  },
];

it.each([
  ...learnedOfSnapshots.map((each) => ({ ...each, ...ofSnapshotLoop })),
  ...learnedOfGroups.map((each) => ({ ...each, ...ofGroupLoop })),
])('when $what, then what the API server has is learned and remembered', async (row) => {
  const result = await performed(row.performers, { object: row.object }, () => row.action);
  expect(result.learned).toEqual(row.learned(result.remembered));
});
