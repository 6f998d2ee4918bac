// SPDX-License-Identifier: Apache-2.0
/** Each action of the snapshot loop alone: its request, which can be cancelled, and what it does after a conflict. */
import type { EventRecorder, KubeObject } from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeSnapshot, type VolumeSnapshotContent } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import {
  aClaim,
  aContent,
  aGroup,
  aProtectedClaim,
  aSnapshot,
  aStaticContent,
  someSettings,
} from '../../testing/builders.ts';
import { learnedInSilence, performed } from '../../testing/single-step.ts';
import { prepared } from '../../testing/snapshot-states.ts';
import { createClaimReleases } from './claim-releases.ts';
import { invalidSource } from './messages.ts';
import { performers } from './perform.ts';
import type { Action, SnapshotContext, SnapshotState } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

const events: EventRecorder = { record: () => undefined, flush: () => Promise.resolve() };
const context: SnapshotContext = {
  settings: someSettings(),
  events,
  operations: { start: () => undefined, succeed: () => false, gone: () => undefined },
  releases: createClaimReleases(),
};
const facts = {
  readyToUse: true,
  creationTime: undefined,
  restoreSize: undefined,
  error: undefined,
  groupName: undefined,
};
const preparation = { finalizers: [snapshotFinalizers.asSource], className: undefined };
const row = 'S1';
const snapshot = aSnapshot({ metadata: { finalizers: [snapshotFinalizers.bound] } });
const content = aContent();
const claim = aProtectedClaim({ metadata: { finalizers: [snapshotFinalizers.claim], resourceVersion: '1' } });

interface Case<T> {
  readonly action: (cached: T) => StepAction;
  /** The result of the action is learned here. */
  readonly result: keyof SnapshotState;
  /** The object as it is stored then is learned here. */
  readonly object?: keyof SnapshotState;
}

const ofSnapshots: readonly Case<VolumeSnapshot>[] = [
  {
    action: (known) => ({ row, kind: 'prepare', snapshot: known, preparation }),
    result: 'prepared',
    object: 'snapshot',
  },
  {
    action: (known) => ({ row, kind: 'saveStatus', snapshot: known, content, facts }),
    result: 'statusSaved',
  },
  {
    action: (known) => ({ row, kind: 'saveError', object: known, problem: invalidSource }),
    result: 'errorSaved',
  },
  {
    action: (known) => ({ row, kind: 'adopt', snapshot: known, group: aGroup() }),
    result: 'adopted',
  },
  {
    action: (known) => ({ row, kind: 'removeFinalizers', snapshot: known, finalizers: prepared.finalizers }),
    result: 'finalizersRemoved',
  },
];
const ofContents: readonly Case<VolumeSnapshotContent>[] = [
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
const named = <T>(cases: readonly Case<T>[], cached: T) =>
  cases.map((each) => ({ ...each, kind: each.action(cached).kind }));

it.each<{ readonly kind: string; readonly action: StepAction; readonly result: keyof SnapshotState }>(
  [
    ...ofSnapshots.map(({ action, result }) => ({ action: action(snapshot), result })),
    ...ofContents.map(({ action, result }) => ({ action: action(content), result })),
    {
      action: { row, kind: 'protectClaim', claim: aClaim({ metadata: { resourceVersion: '1' } }) },
      result: 'claimProtected',
    } as const,
    { action: { row, kind: 'releaseClaim', claim, snapshot }, result: 'claimReleased' } as const,
    { action: { row, kind: 'confirm', snapshot }, result: 'confirmed' } as const,
    { action: { row, kind: 'createContent', snapshot, content }, result: 'created' } as const,
    { action: { row, kind: 'askContent', name: 'content' }, result: 'contentAsked' } as const,
    { action: { row, kind: 'askGroup', namespace: 'team', name: 'group' }, result: 'groupAsked' } as const,
  ].map((each) => ({ ...each, kind: each.action.kind })),
)(
  'given an API server that is silent, when the process must stop during $kind, then the request is cancelled, and $result is the failure',
  async ({ action, result }) => {
    const cancelled = { requests: 1, learned: { [result]: 'aborted' } };
    expect(await learnedInSilence(performers(context), action)).toEqual(cancelled);
  },
);

const changed = { metadata: { labels: { changed: 'yes' } } };

it.each(named(ofSnapshots, snapshot))(
  'given a snapshot that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action, result, object }) => {
    const stored = { object: snapshot, cache: 'outdated' } as const;
    const { learned, requests, remembered } = await performed(performers(context), stored, action);
    const write = `patch volumesnapshots${kind === 'saveStatus' || kind === 'saveError' ? '/status' : ''}`;
    expect(requests).toEqual([`${write} 409`, 'get volumesnapshots 200', `${write} 200`]);
    expect(remembered).toMatchObject({ kind: 'VolumeSnapshot', ...changed });
    expect(learned).toEqual({ [result]: 'done', ...(object === undefined ? {} : { [object]: remembered }) });
  },
);

it.each(named(ofContents, content))(
  'given a content that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action, result, object = '' }) => {
    const stored = { object: content, cache: 'outdated' } as const;
    const { learned, requests, remembered } = await performed(performers(context), stored, action);
    const write = `${kind === 'deleteContent' ? 'delete' : 'patch'} volumesnapshotcontents`;
    expect(requests).toEqual([`${write} 409`, 'get volumesnapshotcontents 200', `${write} 200`]);
    expect(remembered).toMatchObject({ kind: 'VolumeSnapshotContent', ...changed });
    expect(learned).toEqual({ [result]: 'done', [object]: remembered });
  },
);

it('given a status that is saved, then what is new in it is reported about the snapshot as it is stored', async () => {
  const recorded: unknown[] = [];
  const reporting: SnapshotContext = {
    ...context,
    events: { ...events, record: (about, { reason }) => void recorded.push([about, reason]) },
    operations: { ...context.operations, succeed: () => true },
  };
  const { remembered } = await performed(performers(reporting), { object: snapshot }, (known) => ({
    row,
    kind: 'saveStatus',
    snapshot: known,
    content,
    facts,
  }));
  expect(recorded).toEqual([[remembered, 'SnapshotReady']]);
});

it('given a content without UID, class and finalizer, when it is bound, then it gets all three', async () => {
  const { remembered } = await performed(performers(context), { object: aStaticContent() }, (known) => ({
    row,
    kind: 'bind',
    snapshot,
    content: known,
  }));
  expect(remembered).toMatchObject({
    metadata: { finalizers: [snapshotFinalizers.content] },
    spec: {
      volumeSnapshotRef: { name: 'snap', namespace: 'team', uid: 'uid-of-snap' },
      volumeSnapshotClassName: 'gold',
    },
  });
});

it('given a content that is deleted and has no finalizer, then what is learned is the content that was deleted', async () => {
  let deleted: VolumeSnapshotContent | undefined;
  const { learned } = await performed(
    performers(context),
    { object: aContent({ metadata: { finalizers: [] } }) },
    (known) => {
      deleted = known;
      return { row, kind: 'deleteContent', snapshot, content: known };
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
    what: 'a snapshot is confirmed',
    object: snapshot,
    action: { row, kind: 'confirm', snapshot },
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
])('when $what, then what the API server has is learned and remembered', async ({ object, action, learned }) => {
  const result = await performed(performers(context), { object }, () => action);
  expect(result.learned).toEqual(learned(result.remembered));
});

it('given a claim that changed since it was cached, when it is protected, then it is read again, written, and remembered', async () => {
  const stored = { object: aClaim(), cache: 'outdated' } as const;
  const { learned, requests, remembered } = await performed(performers(context), stored, (known) => ({
    row,
    kind: 'protectClaim',
    claim: known,
  }));
  const update = 'update persistentvolumeclaims';
  expect(requests).toEqual([`${update} 409`, 'get persistentvolumeclaims 200', `${update} 200`]);
  expect(remembered).toMatchObject({ kind: 'PersistentVolumeClaim', ...changed });
  expect(learned).toEqual({ claimProtected: 'done', claim: remembered });
});

it('given a claim that changed since it was cached, when it is released, then it is read again, written, and remembered', async () => {
  const stored = { object: aProtectedClaim(), cache: 'outdated' } as const;
  const { learned, requests, remembered } = await performed(performers(context), stored, (known) => ({
    row,
    kind: 'releaseClaim',
    claim: known,
    snapshot,
  }));
  const update = 'update persistentvolumeclaims';
  expect(requests).toEqual([`${update} 409`, 'get persistentvolumeclaims 200', `${update} 200`]);
  expect(remembered).toMatchObject({ kind: 'PersistentVolumeClaim', ...changed });
  expect(learned).toEqual({ claimReleased: 'done' });
});

it.each(['A', 'a%b'])(
  'given the name %s, which no group can have, then the API server is not asked for it',
  async (name) => {
    const { learned, requests } = await performed(performers(context), { object: aGroup() }, () => ({
      row,
      kind: 'askGroup',
      namespace: 'team',
      name,
    }));
    expect([learned, requests]).toEqual([{ groupAsked: { value: false } }, []]);
  },
);
