// SPDX-License-Identifier: Apache-2.0
/** What a dry run of snapshot-controller answers in states that its flows are tested with. */
import { persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import { aDryWorld } from '@csi-sidecars/runtime/testing';
import type { DryAction, KnownObjects } from '@csi-sidecars/sidecar';
import {
  volumeGroupSnapshotClasses,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import {
  aClaim,
  aClass,
  aContent,
  aGroup,
  aGroupClass,
  aGroupContent,
  aProtectedClaim,
  aSnapshot,
  aVolume,
} from '../testing/builders.ts';
import { preparedGroup } from '../testing/group-states.ts';
import { bound, prepared } from '../testing/snapshot-states.ts';
import { dryRun, type SnapshotControllerDryLoop } from './dry-run.ts';

const write = (verb: 'create' | 'patch' | 'update', resource: string): DryAction => ({ kind: 'write', verb, resource });
const done: DryAction = { kind: 'conclude', outcome: { kind: 'done' } };

interface Row {
  readonly row: string | undefined;
  readonly given: string;
  readonly loop: SnapshotControllerDryLoop;
  readonly key?: string;
  readonly snapshot?: ReturnType<typeof aSnapshot>;
  readonly contents?: readonly ReturnType<typeof aContent>[];
  readonly claim?: ReturnType<typeof aClaim>;
  readonly group?: ReturnType<typeof aGroup>;
  readonly groupContents?: readonly ReturnType<typeof aGroupContent>[];
  readonly servesGroups?: false;
  readonly action: DryAction;
}

const withContent = { contents: [aContent()] };
const free = { metadata: { finalizers: [] } };

const table: readonly Row[] = [
  { row: 'S10', given: 'a new snapshot', loop: 'snapshots', action: write('patch', 'volumesnapshots') },
  {
    row: 'S12',
    given: 'a prepared snapshot without a content',
    loop: 'snapshots',
    snapshot: aSnapshot({ metadata: prepared }),
    claim: aProtectedClaim(),
    action: write('create', 'volumesnapshotcontents'),
  },
  {
    row: 'S17',
    given: 'a snapshot whose status says what its content says',
    loop: 'snapshots',
    snapshot: aSnapshot({ metadata: prepared, status: bound }),
    ...withContent,
    action: done,
  },
  {
    row: 'C5',
    given: 'a content without its finalizer',
    loop: 'contents',
    contents: [aContent(free)],
    action: write('patch', 'volumesnapshotcontents'),
  },
  { row: 'C4', given: 'a content with its finalizer', loop: 'contents', ...withContent, action: done },
  {
    row: 'R3',
    given: 'a protected claim that is being deleted and has no snapshot',
    loop: 'claims',
    snapshot: aSnapshot({ spec: { source: { persistentVolumeClaimName: 'other' } } }),
    claim: aProtectedClaim({ deleting: 'yes' }),
    action: write('update', 'persistentvolumeclaims'),
  },
  { row: 'R1', given: 'a claim that is not protected', loop: 'claims', action: done },
  {
    row: 'G10',
    given: 'a new group of prepared claims',
    loop: 'groupSnapshots',
    action: write('patch', 'volumegroupsnapshots'),
  },
  {
    row: 'G11',
    given: 'a prepared group without a content',
    loop: 'groupSnapshots',
    group: aGroup({ metadata: preparedGroup }),
    action: write('create', 'volumegroupsnapshotcontents'),
  },
  {
    row: 'K5',
    given: 'a content of a group without its finalizer',
    loop: 'groupContents',
    groupContents: [aGroupContent(free)],
    action: write('patch', 'volumegroupsnapshotcontents'),
  },
  {
    row: undefined,
    given: 'a cluster without groups',
    loop: 'groupSnapshots',
    servesGroups: false,
    action: { kind: 'none' },
  },
];

it.each(table)('[explain#87] given $given, then the dry run comes to row $row', async ({ row, action, ...given }) => {
  const { loop, servesGroups = true, snapshot = aSnapshot(), claim = aClaim(), group = aGroup() } = given;
  const { contents = [], groupContents = [] } = given;
  const objects: Readonly<Record<SnapshotControllerDryLoop, KnownObjects>> = {
    snapshots: { resource: volumeSnapshots, objects: [snapshot] },
    contents: { resource: volumeSnapshotContents, objects: contents },
    claims: { resource: persistentVolumeClaims, objects: [claim] },
    groupSnapshots: { resource: volumeGroupSnapshots, objects: [group] },
    groupContents: { resource: volumeGroupSnapshotContents, objects: groupContents },
  };
  const world = aDryWorld([
    ...Object.values(objects),
    { resource: volumeSnapshotClasses, objects: [aClass()] },
    { resource: volumeGroupSnapshotClasses, objects: [aGroupClass()] },
    { resource: persistentVolumes, objects: [aVolume()] },
  ]);
  const { namespace, name } = objects[loop].objects[0]?.metadata ?? {};
  const key = namespace === undefined ? `${name}` : `${namespace}/${name}`;
  const args = ['--feature-gates=CSIVolumeGroupSnapshot=true'];
  const answer = await dryRun(world, { loop, key, args, servesGroups });
  expect([answer.row, answer.action]).toEqual([row, action]);
});
