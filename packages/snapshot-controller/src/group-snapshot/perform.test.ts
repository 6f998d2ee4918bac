// SPDX-License-Identifier: Apache-2.0
/** Each action of the group loop alone: its request, which can be cancelled, and what it does after a conflict. */
import type { EventRecorder } from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeGroupSnapshot, type VolumeGroupSnapshotContent } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aGroup, aGroupContent, aSnapshot, aVolume, someSettings } from '../../testing/builders.ts';
import { learnedAfterChange, learnedInSilence } from '../../testing/single-step.ts';
import { owner } from '../../testing/snapshot-states.ts';
import { invalidSource } from './messages.ts';
import { performers } from './perform.ts';
import type { Action, GroupContext } from './state.ts';

type StepAction = Exclude<Action, { readonly kind: 'conclude' }>;

const events: EventRecorder = { record: () => undefined, flush: () => Promise.resolve() };
const context: GroupContext = {
  settings: someSettings(),
  events,
  operations: { start: () => undefined, succeed: () => false, gone: () => undefined },
};
const facts = { readyToUse: true, creationTime: undefined, error: undefined };
const row = 'G1';

const onGroup: readonly ((group: VolumeGroupSnapshot) => StepAction)[] = [
  (group) => ({ row, kind: 'prepare', group, className: 'std' }),
  (group) => ({ row, kind: 'saveStatus', group, content: aGroupContent(), facts }),
  (group) => ({ row, kind: 'saveError', object: group, problem: invalidSource }),
  (group) => ({ row, kind: 'removeFinalizer', group }),
];
const onContent: readonly ((content: VolumeGroupSnapshotContent) => StepAction)[] = [
  (content) => ({ row, kind: 'bind', group: aGroup(), content }),
  (content) => ({ row, kind: 'markContent', group: aGroup(), content }),
  (content) => ({ row, kind: 'deleteContent', group: aGroup(), content }),
];
const group = aGroup({
  metadata: { finalizers: [snapshotFinalizers.groupBound] },
  spec: { volumeGroupSnapshotClassName: undefined as never },
});
const content = aGroupContent();
const member = aSnapshot({ name: 'member', metadata: { ownerReferences: [owner] } });

it.each<StepAction>([
  ...onGroup.map((action) => action(group)),
  ...onContent.map((action) => action(content)),
  { row, kind: 'listClaims', group },
  { row, kind: 'confirm', group },
  { row, kind: 'createContent', group, content },
  { row, kind: 'askContent', name: 'content' },
  { row, kind: 'deleteMembers', group, members: [member] },
  {
    row,
    kind: 'saveMembers',
    members: [
      {
        group,
        groupContent: content,
        info: { volumeHandle: 'handle-1', snapshotHandle: 's1' },
        volume: aVolume(),
        snapshot: undefined,
        content: undefined,
      },
    ],
  },
])(
  'given an API server that is silent, when the process must stop during $kind, then the request is cancelled',
  async (action) => {
    expect(await learnedInSilence(performers(context), action)).toEqual({ requests: 1, learned: ['aborted'] });
  },
);

it.each(onGroup.map((action) => ({ kind: action(group).kind, action })))(
  'given a group that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action }) => {
    const { requests, failures, remembered } = await learnedAfterChange(performers(context), group, action);
    const write = `patch volumegroupsnapshots${kind === 'saveStatus' || kind === 'saveError' ? '/status' : ''}`;
    expect(requests).toEqual([`${write} 409`, 'get volumegroupsnapshots 200', `${write} 200`]);
    expect(failures).toEqual([]);
    expect(remembered).toMatchObject({
      kind: 'VolumeGroupSnapshot',
      metadata: { name: 'group', labels: { changed: 'yes' } },
    });
  },
);

it.each(onContent.map((action) => ({ kind: action(content).kind, action })))(
  'given a content that changed since it was cached, when $kind is performed, then it is read again, written, and remembered',
  async ({ kind, action }) => {
    const { requests, failures, remembered } = await learnedAfterChange(performers(context), content, action);
    const write = `${kind === 'deleteContent' ? 'delete' : 'patch'} volumegroupsnapshotcontents`;
    expect(requests).toEqual([`${write} 409`, 'get volumegroupsnapshotcontents 200', `${write} 200`]);
    expect(failures).toEqual([]);
    expect(remembered).toMatchObject({ kind: 'VolumeGroupSnapshotContent', metadata: { labels: { changed: 'yes' } } });
  },
);

it('given a member that changed since it was cached, when the members are deleted, then it is read again, and deleted', async () => {
  const { requests, failures } = await learnedAfterChange(performers(context), member, (cached) => ({
    row,
    kind: 'deleteMembers',
    group,
    members: [cached],
  }));
  expect(requests).toEqual(['delete volumesnapshots 409', 'get volumesnapshots 200', 'delete volumesnapshots 200']);
  expect(failures).toEqual([]);
});
