// SPDX-License-Identifier: Apache-2.0
/** What a dry run of csi-snapshotter answers in states that its flow is tested with. */
import {
  managedByLabel,
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeSnapshotClasses,
  volumeSnapshotContents,
} from '@csi-sidecars/volume';
import { aDryWorld } from '@csi-sidecars/runtime/testing';
import type { DryAction } from '@csi-sidecars/sidecar';
import { expect, it } from 'vitest';
import {
  aClass,
  aContent,
  aDriver,
  aGroupClass,
  aGroupContent,
  groupIntent,
  intent,
  memberOf,
} from '../testing/builders.ts';
import { dryRun, type SnapshotterDryLoop, type SnapshotterDryQuestion } from './dry-run.ts';

const driver = aDriver();
const patch = (resource: string): DryAction => ({ kind: 'write', verb: 'patch', resource });
const call = (method: string): DryAction => ({ kind: 'call', method });
const done: DryAction = { kind: 'conclude', outcome: { kind: 'done' } };

interface Row {
  readonly row: string | undefined;
  readonly given: string;
  readonly content?: Parameters<typeof aContent>[0];
  readonly group?: Parameters<typeof aGroupContent>[0];
  readonly loop?: SnapshotterDryLoop;
  readonly question?: Partial<SnapshotterDryQuestion>;
  readonly action: DryAction;
}

const groups = { loop: 'groupContents' } as const;
const handle = { snapshotHandle: 'snapshot-1' };

const table: readonly Row[] = [
  { row: 'C12', given: 'a content that is new', action: patch('volumesnapshotcontents') },
  { row: 'C13', given: 'a content with the intent', content: intent, action: call('CreateSnapshot') },
  { row: 'C8', given: 'a content that is ready', content: { status: { ...handle, readyToUse: true } }, action: done },
  {
    row: 'C5',
    given: 'a content that is to be deleted with its snapshot',
    content: { deleting: 'asked', status: { ...handle, readyToUse: true } },
    action: call('DeleteSnapshot'),
  },
  {
    row: 'C19',
    given: 'a content with a handle',
    content: { handle: 'snapshot-1', className: null },
    action: call('ListSnapshots'),
  },
  { ...groups, row: 'G11', given: 'a content of a group that is new', action: patch('volumegroupsnapshotcontents') },
  {
    ...groups,
    row: 'G12',
    given: 'a content of a group with the intent',
    group: groupIntent,
    action: call('CreateVolumeGroupSnapshot'),
  },
  {
    ...groups,
    row: undefined,
    given: 'a cluster without groups',
    question: { servesGroups: false },
    action: { kind: 'none' },
  },
  {
    ...groups,
    row: undefined,
    given: 'the gate of groups off',
    question: { args: ['--feature-gates=CSIVolumeGroupSnapshot=false'] },
    action: { kind: 'none' },
  },
  {
    row: 'C28',
    given: 'a ready member of a group and the gate of topologies',
    content: { annotations: memberOf, className: null, status: { ...handle, readyToUse: true } },
    question: {
      args: ['--feature-gates=VolumeSnapshotTopology=true'],
      driver: { ...driver, pluginCapabilities: new Set(['SNAPSHOT_ACCESSIBILITY_CONSTRAINTS']) },
    },
    action: call('ListSnapshots'),
  },
  {
    row: 'C1',
    given: 'the instance of another node',
    question: { nodeName: 'node2', args: ['--node-deployment'] },
    content: { labels: { [managedByLabel]: 'node1' } },
    action: done,
  },
];

it.each(table)('[explain#87] given $given, then the dry run comes to row $row', async ({ row, action, ...given }) => {
  const { content, group, loop = 'contents', question } = given;
  const world = aDryWorld([
    { resource: volumeSnapshotContents, objects: [aContent(content)] },
    { resource: volumeSnapshotClasses, objects: [aClass()] },
    { resource: volumeGroupSnapshotContents, objects: [aGroupContent(group)] },
    { resource: volumeGroupSnapshotClasses, objects: [aGroupClass()] },
  ]);
  const key = loop === 'contents' ? 'content' : 'group';
  const args = ['--feature-gates=CSIVolumeGroupSnapshot=true'];
  const answer = await dryRun(world, { loop, key, args, driver, servesGroups: true, ...question });
  expect([answer.row, answer.action]).toEqual([row, action]);
});
