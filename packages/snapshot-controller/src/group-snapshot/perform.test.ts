// SPDX-License-Identifier: Apache-2.0
/** Each action of the group loop alone: its request, which can be cancelled, and what it does after a conflict. */
import type { EventRecorder, KubeObject } from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeGroupSnapshot, type VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aClaim, aGroup, aGroupContent, aSnapshot, aVolume, someSettings } from '../../testing/builders.ts';
import { learnedInSilence, performed } from '../../testing/single-step.ts';
import { owner } from '../../testing/snapshot-states.ts';
import type { Member } from './members.ts';
import { invalidSource } from './messages.ts';
import { performers } from './perform.ts';
import type { Action, GroupContext, GroupState } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

const events: EventRecorder = { record: () => undefined, flush: () => Promise.resolve() };
const context: GroupContext = {
  settings: someSettings(),
  events,
  operations: { start: () => undefined, succeed: () => false, gone: () => undefined },
};
const facts = { readyToUse: true, creationTime: undefined, error: undefined };
const row = 'G1';
const group = aGroup({
  metadata: { finalizers: [snapshotFinalizers.groupBound] },
  spec: { volumeGroupSnapshotClassName: undefined as never },
});
const content = aGroupContent();
const member = aSnapshot({ name: 'member', metadata: { ownerReferences: [owner] } });
const incomplete: Member = {
  group,
  groupContent: content,
  info: { volumeHandle: 'handle-1', snapshotHandle: 's1' },
  volume: aVolume(),
  snapshot: undefined,
  content: undefined,
};

interface Case<T> {
  readonly action: (cached: T) => StepAction;
  /** The result of the action is learned here. */
  readonly result: keyof GroupState;
  /** The object as it is stored then is learned here. */
  readonly object?: keyof GroupState;
}

const ofGroups: readonly Case<VolumeGroupSnapshot>[] = [
  {
    action: (known) => ({ row, kind: 'prepare', group: known, className: 'std' }),
    result: 'prepared',
    object: 'group',
  },
  { action: (known) => ({ row, kind: 'saveStatus', group: known, content, facts }), result: 'statusSaved' },
  { action: (known) => ({ row, kind: 'saveError', object: known, problem: invalidSource }), result: 'errorSaved' },
  { action: (known) => ({ row, kind: 'removeFinalizer', group: known }), result: 'finalizersRemoved' },
];
const ofContents: readonly Case<VolumeGroupSnapshotContent>[] = [
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
const named = <T>(cases: readonly Case<T>[], cached: T) =>
  cases.map((each) => ({ ...each, kind: each.action(cached).kind }));

it('given two members, then the second is saved after the first', async () => {
  const second: Member = { ...incomplete, info: { volumeHandle: 'handle-2', snapshotHandle: 's2' } };
  const members = [incomplete, second];
  const { requests } = await performed(performers(context), { object: group }, () => ({
    row,
    kind: 'saveMembers',
    members,
  }));
  const one = [
    'create volumesnapshots 201',
    'create volumesnapshotcontents 201',
    'patch volumesnapshots/status 200',
    'patch volumesnapshotcontents/status 200',
  ];
  expect(requests).toEqual([...one, ...one]);
});

it('given a claim without a volume, when claims are listed, then it is a source without a volume', async () => {
  const claim = aClaim({ metadata: { labels: { app: 'db' } } });
  const { learned } = await performed(performers(context), { object: claim }, () => ({
    row,
    kind: 'listClaims',
    group,
  }));
  expect(learned).toMatchObject({ sources: { value: [{ claim: { metadata: { name: 'data' } }, volume: undefined }] } });
});

it.each<{ readonly kind: string; readonly action: StepAction; readonly result: keyof GroupState }>(
  [
    ...ofGroups.map(({ action, result }) => ({ action: action(group), result })),
    ...ofContents.map(({ action, result }) => ({ action: action(content), result })),
    { action: { row, kind: 'listClaims', group }, result: 'sources' } as const,
    { action: { row, kind: 'confirm', group }, result: 'confirmed' } as const,
    { action: { row, kind: 'createContent', group, content }, result: 'created' } as const,
    { action: { row, kind: 'askContent', name: 'content' }, result: 'contentAsked' } as const,
    { action: { row, kind: 'deleteMembers', group, members: [member] }, result: 'membersDeleted' } as const,
    { action: { row, kind: 'saveMembers', members: [incomplete] }, result: 'membersSaved' } as const,
  ].map((each) => ({ ...each, kind: each.action.kind })),
)(
  'given an API server that is silent, when the process must stop during $kind, then the request is cancelled, and $result is the failure',
  async ({ action, result }) => {
    const cancelled = { requests: 1, learned: { [result]: 'aborted' } };
    expect(await learnedInSilence(performers(context), action)).toEqual(cancelled);
  },
);

const changed = { metadata: { labels: { changed: 'yes' } } };

it.each(named(ofGroups, group))(
  'given a group that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action, result, object }) => {
    const stored = { object: group, cache: 'outdated' } as const;
    const { learned, requests, remembered } = await performed(performers(context), stored, action);
    const write = `patch volumegroupsnapshots${kind === 'saveStatus' || kind === 'saveError' ? '/status' : ''}`;
    expect(requests).toEqual([`${write} 409`, 'get volumegroupsnapshots 200', `${write} 200`]);
    expect(remembered).toMatchObject({ kind: 'VolumeGroupSnapshot', ...changed });
    expect(learned).toEqual({ [result]: 'done', ...(object === undefined ? {} : { [object]: remembered }) });
  },
);

it.each(named(ofContents, content))(
  'given a content that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action, result, object = '' }) => {
    const stored = { object: content, cache: 'outdated' } as const;
    const { learned, requests, remembered } = await performed(performers(context), stored, action);
    const write = `${kind === 'deleteContent' ? 'delete' : 'patch'} volumegroupsnapshotcontents`;
    expect(requests).toEqual([`${write} 409`, 'get volumegroupsnapshotcontents 200', `${write} 200`]);
    expect(remembered).toMatchObject({ kind: 'VolumeGroupSnapshotContent', ...changed });
    expect(learned).toEqual({ [result]: 'done', [object]: remembered });
  },
);

it('given a member that changed since it was cached, when the members are deleted, then it is read again, and deleted', async () => {
  const stored = { object: member, cache: 'outdated' } as const;
  const { learned, requests } = await performed(performers(context), stored, (known) => ({
    row,
    kind: 'deleteMembers',
    group,
    members: [known],
  }));
  expect(requests).toEqual(['delete volumesnapshots 409', 'get volumesnapshots 200', 'delete volumesnapshots 200']);
  expect(learned).toEqual({ membersDeleted: 'done' });
});

it('given a status that is saved, then what is new in it is reported about the group as it is stored', async () => {
  const recorded: unknown[] = [];
  const reporting: GroupContext = {
    ...context,
    events: { ...events, record: (about, { reason }) => void recorded.push([about, reason]) },
    operations: { ...context.operations, succeed: () => true },
  };
  const { remembered } = await performed(performers(reporting), { object: group }, (known) => ({
    row,
    kind: 'saveStatus',
    group: known,
    content,
    facts,
  }));
  expect(recorded).toEqual([[remembered, 'GroupSnapshotReady']]);
});

it('given a content without UID, class and finalizer, when it is bound, then it gets all three', async () => {
  const volumeGroupSnapshotRef = { name: 'group', namespace: 'team' };
  const unbound = aGroupContent({
    metadata: { finalizers: [] },
    spec: { volumeGroupSnapshotRef, volumeGroupSnapshotClassName: undefined as never },
  });
  const { remembered } = await performed(performers(context), { object: unbound }, (known) => ({
    row,
    kind: 'bind',
    group: aGroup(),
    content: known,
  }));
  expect(remembered).toMatchObject({
    metadata: { finalizers: [snapshotFinalizers.groupContent] },
    spec: {
      volumeGroupSnapshotRef: { ...volumeGroupSnapshotRef, uid: 'uid-of-group' },
      volumeGroupSnapshotClassName: 'group-gold',
    },
  });
});

it('given a content that is deleted and has no finalizer, then what is learned is the content that was deleted', async () => {
  let deleted: VolumeGroupSnapshotContent | undefined;
  const { learned } = await performed(
    performers(context),
    { object: aGroupContent({ metadata: { finalizers: [] } }) },
    (known) => {
      deleted = known;
      return { row, kind: 'deleteContent', group, content: known };
    },
  );
  expect(learned).toEqual({ contentDeleted: 'done', content: deleted });
});

it.each<{
  readonly what: string;
  readonly object: KubeObject;
  readonly action: StepAction;
  readonly learned: (stored: unknown) => object;
}>([
  {
    what: 'a group is confirmed',
    object: group,
    action: { row, kind: 'confirm', group },
    learned: (stored) => ({ confirmed: 'done', group: stored }),
  },
  {
    what: 'a content is created',
    object: group,
    action: { row, kind: 'createContent', group, content },
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
    what: 'members are saved',
    object: group,
    action: { row, kind: 'saveMembers', members: [incomplete] },
    learned: () => ({ membersSaved: 'done' }),
  },
])('when $what, then what the API server has is learned and remembered', async ({ object, action, learned }) => {
  const result = await performed(performers(context), { object }, () => action);
  expect(result.learned).toEqual(learned(result.remembered));
});
