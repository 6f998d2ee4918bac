// SPDX-License-Identifier: Apache-2.0
/** One line for each row of the group table: given this state, decide returns that action. */
import type { CreateVolumeGroupSnapshotResponse, GetVolumeGroupSnapshotResponse } from '@csi-sidecars/csi';
import { ApiError, done, postpone, requeueAfter, retry } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import {
  aDriver,
  aGroupClass,
  aGroupContent,
  csiFailure,
  groupBeingCreated,
  groupIntent,
  type GroupContentOptions,
  groupDeletionSecret,
  snapshotUid,
  someSettings,
} from '../../testing/builders.ts';
import { concludes, event, showing } from '../../testing/expected-actions.ts';
import { nothingLearned } from '../content-types.ts';
import { decide } from './decide.ts';
import type { GroupSnapshotAction, GroupSnapshotState } from './state.ts';

type Content = ReturnType<typeof aGroupContent>;

const { spec: _spec, ...withoutSpec } = aGroupContent();
const marked = aGroupContent(groupIntent);
const withdrawnContent = aGroupContent({
  deleting: 'direct',
  annotations: groupBeingCreated,
  labels: { [Object.keys(groupBeingCreated)[0]!]: 'withdrawn' },
});
const full = { volumeGroupSnapshotHandle: 'g', readyToUse: true, volumeSnapshotInfoList: [{ snapshotHandle: 's' }] };
const deletable = (options: GroupContentOptions = {}): Content =>
  aGroupContent({ status: full, deleting: 'asked', ...options });
const failed = { failure: new Error('broken') };
const gone = { failure: new ApiError({ status: 404, reason: 'NotFound', message: 'x' }) };
const secret = { name: 'key', namespace: 'vault' };
const group = { group_snapshot_id: 'g', snapshots: [], creation_time: { seconds: '1', nanos: 2 }, ready_to_use: true };
const created: { readonly value: CreateVolumeGroupSnapshotResponse } = { value: { group_snapshot: group } };
const got: { readonly value: GetVolumeGroupSnapshotResponse } = { value: { group_snapshot: group } };
const taken = { handle: 'g', isReady: true, createdAt: 1_000_000_002, members: [] };
const handles = { volumeGroupSnapshotHandle: 'g', volumeSnapshotHandles: ['s'] };
const preProvisioned = aGroupContent({ handles, className: null });
const getSecret = aGroupClass({
  parameters: {
    'csi.storage.k8s.io/group-snapshotter-get-secret-name': 'key',
    'csi.storage.k8s.io/group-snapshotter-get-secret-namespace': 'vault',
  },
});

const shows = showing('Failed to create group snapshot: ');
const showsCheck = showing('Failed to check and update group snapshot content: ');
const notTaken = (cause: string): string =>
  `failed to take group snapshot of the volumes [volume-1 volume-2]: "${cause}"`;
const notUpdated = 'snapshot controller failed to update group on API server: broken';

interface Row {
  readonly id: string;
  readonly given: string;
  readonly state: Partial<GroupSnapshotState>;
  readonly then: GroupSnapshotAction;
}

const check = ({ state, then }: Row): void => {
  const observed = {
    ...nothingLearned,
    confirmed: 'done' as const,
    content: aGroupContent(),
    class: aGroupClass(),
    isFirst: true,
  };
  expect(decide({ ...observed, ...state }, { driver: aDriver(), settings: someSettings() })).toEqual(then);
};

describe('which group', () => {
  it.each<Row>([
    { id: '[csi-snapshotter#G1]', given: 'no content', state: { content: undefined }, then: concludes('G1', done) },
    {
      id: '[csi-snapshotter#G2]',
      given: 'no volumes',
      state: { content: aGroupContent({ volumes: [] }) },
      then: concludes('G2', done),
    },
    {
      id: '[csi-snapshotter#G2]',
      given: 'a content without a spec',
      state: { content: withoutSpec },
      then: concludes('G2', done),
    },
    {
      id: '[csi-snapshotter#G2]',
      given: 'another driver',
      state: { content: aGroupContent({ driver: 'other' }) },
      then: concludes('G2', done),
    },
    {
      id: '[csi-snapshotter#G3]',
      given: 'a class of another driver',
      state: { class: aGroupClass({ driver: 'other' }) },
      then: concludes('G3', done),
    },
    {
      id: '[csi-snapshotter#G8]',
      given: 'a ready group',
      state: { content: aGroupContent({ status: full }) },
      then: concludes('G8', done),
    },
    {
      id: '[csi-snapshotter#G8]',
      given: 'a ready group with the intent',
      state: { content: aGroupContent({ status: full, ...groupIntent }) },
      then: { row: 'G8', kind: 'unmark', content: aGroupContent({ status: full, ...groupIntent }) },
    },
  ])('$id given $given, then $then.row', check);
});

describe('deletion', () => {
  it.each<Row>([
    {
      id: '[csi-snapshotter#G4]',
      given: 'a secret',
      state: { content: deletable({ annotations: groupDeletionSecret }) },
      then: { row: 'G4', kind: 'readSecret', reference: secret },
    },
    {
      id: '[csi-snapshotter#G4]',
      given: 'a secret that cannot be read',
      state: { content: deletable({ annotations: groupDeletionSecret }), secrets: failed },
      then: concludes(
        'G4',
        retry(new Error('broken')),
        event('GroupSnapshotDeleteError', 'Failed to get snapshot credentials'),
      ),
    },
    {
      id: '[csi-snapshotter#G5]',
      given: 'a group',
      state: { content: deletable() },
      then: { row: 'G5', kind: 'delete', request: { group_snapshot_id: 'g', snapshot_ids: ['s'] } },
    },
    {
      id: '[csi-snapshotter#G5]',
      given: 'a driver that refuses',
      state: { content: deletable(), deleted: failed },
      then: concludes(
        'G5',
        retry(new Error('failed to delete group snapshot "group", err: broken')),
        event('GroupSnapshotDeleteError', 'Failed to delete group snapshot: broken'),
      ),
    },
    {
      id: '[csi-snapshotter#G5]',
      given: 'no members',
      state: { content: deletable({ status: { volumeGroupSnapshotHandle: 'g' } }) },
      then: concludes(
        'G5',
        retry(
          new Error(
            'failed to delete group snapshot "group", err: cannot delete group snapshot content group. No snapshots found in the group snapshot',
          ),
        ),
        event(
          'GroupSnapshotDeleteError',
          'Failed to delete group snapshot: cannot delete group snapshot content group. No snapshots found in the group snapshot',
        ),
      ),
    },
    {
      id: '[csi-snapshotter#G6]',
      given: 'a deleted group',
      state: { content: deletable(), deleted: 'done' },
      then: { row: 'G6', kind: 'clear', content: deletable() },
    },
    {
      id: '[csi-snapshotter#G6]',
      given: 'a status that cannot be cleared',
      state: { content: deletable(), deleted: 'done', cleared: failed },
      then: concludes(
        'G6',
        retry(new Error(notUpdated)),
        event('GroupSnapshotDeleteError', 'Failed to clear content status'),
      ),
    },
    {
      id: '[csi-snapshotter#G6]',
      given: 'a content that is gone by then',
      state: { content: deletable(), deleted: 'done', cleared: gone },
      then: concludes('G6', done),
    },
    {
      id: '[csi-snapshotter#G7]',
      given: 'policy Retain',
      state: { content: deletable({ policy: 'Retain' }) },
      then: { row: 'G7', kind: 'release', content: deletable({ policy: 'Retain' }) },
    },
    {
      id: '[csi-snapshotter#G7]',
      given: 'no handle',
      state: { content: deletable({ status: {} }) },
      then: { row: 'G7', kind: 'release', content: deletable({ status: {} }) },
    },
    {
      id: '[csi-snapshotter#G7]',
      given: 'a released content',
      state: { content: deletable({ status: {}, finalizers: ['a/b'] }), released: 'done' },
      then: concludes('G7', done),
    },
  ])('$id given $given, then $then.row', check);
});

describe('creation', () => {
  const named = aGroupContent({ annotations: groupDeletionSecret });
  const ofOne = aGroupContent({ volumes: ['volume-1'] });
  it.each<Row>([
    {
      id: '[csi-snapshotter#G9]',
      given: 'an unknown reserved parameter',
      state: { class: aGroupClass({ parameters: { 'csi.storage.k8s.io/x': 'y' } }) },
      then: shows(
        'G9',
        aGroupContent(),
        'failed to remove CSI Parameters of prefixed keys: found unknown parameter key "csi.storage.k8s.io/x" with reserved namespace csi.storage.k8s.io/',
      ),
    },
    {
      id: '[csi-snapshotter#G10]',
      given: 'a secret',
      state: { content: named },
      then: { row: 'G10', kind: 'readSecret', reference: secret },
    },
    {
      id: '[csi-snapshotter#G25]',
      given: 'an intent that is withdrawn on a content whose deletion snapshot-controller does not agree to',
      state: { content: withdrawnContent },
      then: concludes('G25', done),
    },
    {
      id: '[csi-snapshotter#G11]',
      given: 'the label of the intent alone, and no class',
      state: { content: deletable({ status: {}, labels: groupBeingCreated }), class: undefined },
      then: {
        row: 'G11',
        kind: 'mark',
        content: deletable({ status: {}, labels: groupBeingCreated }),
      },
    },
    {
      id: '[csi-snapshotter#G11]',
      given: 'no intent',
      state: {},
      then: { row: 'G11', kind: 'mark', content: aGroupContent() },
    },
    {
      id: '[csi-snapshotter#G11]',
      given: 'a group of one volume',
      state: { content: ofOne },
      then: { row: 'G11', kind: 'mark', content: ofOne },
    },
    {
      id: '[csi-snapshotter#G11]',
      given: 'an intent of an earlier run',
      state: { content: marked, confirmed: 'untried' },
      then: { row: 'G11', kind: 'confirm', content: marked },
    },
    {
      id: '[csi-snapshotter#G11]',
      given: 'an intent of an earlier run, and a content that cannot be read',
      state: { content: marked, confirmed: failed },
      then: shows('G11', marked, 'error get group snapshot content group from api server: broken'),
    },
    {
      id: '[csi-snapshotter#G12]',
      given: 'the intent',
      state: { content: marked },
      then: {
        row: 'G12',
        kind: 'create',
        request: { name: `groupsnapshot-${snapshotUid}`, source_volume_ids: ['volume-1', 'volume-2'], parameters: {} },
      },
    },
    {
      id: '[csi-snapshotter#G13]',
      given: 'a final error',
      state: { content: marked, created: { failure: csiFailure('Internal') } },
      then: { row: 'G13', kind: 'unmark', content: marked },
    },
    {
      id: '[csi-snapshotter#G13]',
      given: 'an intent that cannot be withdrawn',
      state: { content: marked, created: { failure: csiFailure('Internal') }, unmarked: failed },
      then: shows(
        'G13',
        marked,
        `failed to remove VolumeGroupSnapshotBeingCreated annotation from the group snapshot content group: ${notUpdated}`,
      ),
    },
    {
      id: '[csi-snapshotter#G14]',
      given: 'an open call',
      state: { content: marked, created: { failure: csiFailure('Unavailable') } },
      then: shows('G14', marked, notTaken('rpc error: code = Unavailable desc = no')),
    },
    {
      id: '[csi-snapshotter#G15]',
      given: 'an answer without a group',
      state: { content: marked, created: { value: { group_snapshot: null } } },
      then: shows('G15', marked, notTaken('the answer to CreateVolumeGroupSnapshot has no snapshot')),
    },
    {
      id: '[csi-snapshotter#G20]',
      given: 'an answer',
      state: { content: marked, created },
      then: { row: 'G20', kind: 'save', content: marked, taken },
    },
    {
      id: '[csi-snapshotter#G21]',
      given: 'a written status',
      state: { content: marked, created, saved: 'done' },
      then: { row: 'G21', kind: 'unmark', content: marked },
    },
    {
      id: '[csi-snapshotter#G21]',
      given: 'an intent that cannot be withdrawn',
      state: { content: marked, created, saved: 'done', unmarked: failed },
      then: concludes(
        'G21',
        retry(
          new Error(
            `Failed to create group snapshot: failed to remove VolumeGroupSnapshotBeingCreated annotation on the groupSnapshotContent group: "${notUpdated}"`,
          ),
        ),
        event(
          'GroupSnapshotCreationFailed',
          `Failed to create group snapshot: failed to remove VolumeGroupSnapshotBeingCreated annotation on the groupSnapshotContent group: "${notUpdated}"`,
        ),
      ),
    },
    {
      id: '[csi-snapshotter#G22]',
      given: 'a deletion by now',
      state: { content: deletable(), created, saved: 'done' },
      then: concludes('G22', requeueAfter(0)),
    },
    {
      id: '[csi-snapshotter#G23]',
      given: 'a ready group',
      state: { content: aGroupContent({ status: full }), created, saved: 'done' },
      then: concludes('G23', done),
    },
    {
      id: '[csi-snapshotter#G24]',
      given: 'a group that is not ready',
      state: { created, saved: 'done' },
      then: concludes('G24', postpone('the snapshot is not ready')),
    },
  ])('$id given $given, then $then.row', check);
});

describe('a pre-provisioned group', () => {
  const classed = aGroupContent({ handles });
  const going = deletable({ handles, className: null });
  const nameless = aGroupContent({ className: null, handles: { ...handles, volumeGroupSnapshotHandle: '' } });
  it.each<Row>([
    {
      id: '[csi-snapshotter#G16]',
      given: 'an empty handle',
      state: { content: nameless },
      then: showsCheck(
        'G16',
        nameless,
        'failed to list group snapshot for group snapshot content group: "the group snapshot content has an empty handle"',
      ),
    },
    {
      id: '[csi-snapshotter#G17]',
      given: 'a secret of the class',
      state: { content: classed, class: getSecret },
      then: { row: 'G17', kind: 'readQuerySecret', reference: secret },
    },
    {
      id: '[csi-snapshotter#G17]',
      given: 'a secret that cannot be read',
      state: { content: classed, class: getSecret, querySecrets: failed },
      then: showsCheck('G17', classed, 'failed to get credentials for group snapshot content group: broken'),
    },
    {
      id: '[csi-snapshotter#G18]',
      given: 'no secret',
      state: { content: preProvisioned },
      then: { row: 'G18', kind: 'query', request: { group_snapshot_id: 'g', snapshot_ids: ['s'] } },
    },
    {
      id: '[csi-snapshotter#G19]',
      given: 'a driver that refuses',
      state: { content: preProvisioned, queried: { failure: csiFailure('Aborted') } },
      then: showsCheck(
        'G19',
        preProvisioned,
        'failed to list group snapshot for group snapshot content group: "rpc error: code = Aborted desc = no"',
      ),
    },
    {
      id: '[csi-snapshotter#G19]',
      given: 'an answer without a group',
      state: { content: preProvisioned, queried: { value: { group_snapshot: null } } },
      then: showsCheck(
        'G19',
        preProvisioned,
        'failed to list group snapshot for group snapshot content group: "the answer to GetVolumeGroupSnapshot has no snapshot"',
      ),
    },
    {
      id: '[csi-snapshotter#G20]',
      given: 'an answer',
      state: { content: preProvisioned, queried: got },
      then: { row: 'G20', kind: 'save', content: preProvisioned, taken },
    },
    {
      id: '[csi-snapshotter#G20]',
      given: 'a status that cannot be written',
      state: { content: preProvisioned, queried: got, saved: failed },
      then: showsCheck('G20', preProvisioned, notUpdated),
    },
    {
      id: '[csi-snapshotter#G20]',
      given: 'an answer, and a deletion by now',
      state: { content: going, queried: got },
      then: { row: 'G20', kind: 'save', content: going, taken },
    },
    {
      id: '[csi-snapshotter#G22]',
      given: 'a written answer, and a deletion by now',
      state: { content: going, queried: got, saved: 'done' },
      then: concludes('G22', requeueAfter(0)),
    },
    {
      id: '[csi-snapshotter#G24]',
      given: 'a group that is not ready',
      state: { content: preProvisioned, queried: got, saved: 'done' },
      then: concludes('G24', postpone('the snapshot is not ready')),
    },
  ])('$id given $given, then $then.row', check);
});
