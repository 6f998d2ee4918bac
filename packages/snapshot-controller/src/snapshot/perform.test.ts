// SPDX-License-Identifier: Apache-2.0
/** Each action of the snapshot loop alone: its request, which can be cancelled, and what it does after a conflict. */
import type { EventRecorder } from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeSnapshot, type VolumeSnapshotContent } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aContent, aGroup, aProtectedClaim, aSnapshot, aClaim, someSettings } from '../../testing/builders.ts';
import { learnedAfterChange, learnedInSilence } from '../../testing/single-step.ts';
import { prepared } from '../../testing/snapshot-states.ts';
import { createClaimReleases } from './claim-releases.ts';
import { invalidSource } from './messages.ts';
import { performers } from './perform.ts';
import type { Action, SnapshotContext } from './state.ts';

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

const onSnapshot: readonly ((snapshot: VolumeSnapshot) => StepAction)[] = [
  (snapshot) => ({ row, kind: 'prepare', snapshot, preparation }),
  (snapshot) => ({ row, kind: 'saveStatus', snapshot, content: aContent(), facts }),
  (snapshot) => ({ row, kind: 'saveError', object: snapshot, problem: invalidSource }),
  (snapshot) => ({ row, kind: 'adopt', snapshot, group: aGroup() }),
  (snapshot) => ({ row, kind: 'removeFinalizers', snapshot, finalizers: prepared.finalizers }),
];
const onContent: readonly ((content: VolumeSnapshotContent) => StepAction)[] = [
  (content) => ({ row, kind: 'bind', snapshot: aSnapshot(), content }),
  (content) => ({ row, kind: 'markContent', snapshot: aSnapshot(), content }),
  (content) => ({ row, kind: 'deleteContent', snapshot: aSnapshot(), content }),
];
const snapshot = aSnapshot({ metadata: { finalizers: [snapshotFinalizers.bound] } });
const content = aContent();

it.each<StepAction>([
  ...onSnapshot.map((action) => action(snapshot)),
  ...onContent.map((action) => action(content)),
  { row, kind: 'protectClaim', claim: aClaim() },
  {
    row,
    kind: 'releaseClaim',
    claim: aProtectedClaim({ metadata: { finalizers: [snapshotFinalizers.claim], resourceVersion: '1' } }),
    snapshot,
  },
  { row, kind: 'confirm', snapshot },
  { row, kind: 'createContent', snapshot, content },
  { row, kind: 'askContent', name: 'content' },
  { row, kind: 'askGroup', namespace: 'team', name: 'group' },
])(
  'given an API server that is silent, when the process must stop during $kind, then the request is cancelled',
  async (action) => {
    expect(await learnedInSilence(performers(context), action)).toEqual({ requests: 1, learned: ['aborted'] });
  },
);

const subresource = (kind: string): string => (kind === 'saveStatus' || kind === 'saveError' ? '/status' : '');

it.each(onSnapshot.map((action) => ({ kind: action(snapshot).kind, action })))(
  'given a snapshot that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action }) => {
    const { requests, failures, remembered } = await learnedAfterChange(performers(context), snapshot, action);
    const write = `patch volumesnapshots${subresource(kind)}`;
    expect(requests).toEqual([`${write} 409`, 'get volumesnapshots 200', `${write} 200`]);
    expect(failures).toEqual([]);
    expect(remembered).toMatchObject({
      kind: 'VolumeSnapshot',
      metadata: { name: 'snap', labels: { changed: 'yes' } },
    });
  },
);

it.each(onContent.map((action) => ({ kind: action(content).kind, action })))(
  'given a content that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action }) => {
    const { requests, failures, remembered } = await learnedAfterChange(performers(context), content, action);
    const write = `${kind === 'deleteContent' ? 'delete' : 'patch'} volumesnapshotcontents`;
    expect(requests).toEqual([`${write} 409`, 'get volumesnapshotcontents 200', `${write} 200`]);
    expect(failures).toEqual([]);
    expect(remembered).toMatchObject({ kind: 'VolumeSnapshotContent', metadata: { labels: { changed: 'yes' } } });
  },
);
