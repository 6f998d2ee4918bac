// SPDX-License-Identifier: Apache-2.0
/** Requests that cannot be made, each with upstream's text, and what a group without the names of its snapshot sends. */
import { expect, it } from 'vitest';
import { aDriver, aGroupClass, aGroupContent, snapshotUid, someSettings } from '../../testing/builders.ts';
import { planCreation, planDeletion, planQuery } from './request.ts';

const context = { settings: someSettings({ extraCreateMetadata: true }), driver: aDriver() };
const volumes = '[volume-1 volume-2]';
const notBound = `failed to take group snapshot of the volumes ${volumes}: "cannot create group snapshot. Group snapshot content group not bound to a group snapshot"`;
const unknownParameter = { parameters: { 'csi.storage.k8s.io/other': 'x' } };

it.each([
  {
    given: 'it is bound to no group snapshot',
    content: aGroupContent({ refUid: '' }),
    message: notBound,
  },
  {
    given: 'its reference has no UID',
    content: aGroupContent({ refUid: null }),
    message: notBound,
  },
  {
    given: 'it names no volumes',
    content: aGroupContent({ volumes: [] }),
    message:
      'failed to take group snapshot of the volumes []: "cannot create group snapshot. PVCs to be snapshotted not found in group snapshot content group"',
  },
  {
    given: 'its class has a parameter with a reserved prefix that is unknown',
    content: aGroupContent(),
    more: unknownParameter,
    message: expect.stringContaining('csi.storage.k8s.io/other') as string,
  },
])('given a group to create, when $given, then no request is made, and the message says so', (row) => {
  const planned = planCreation(row.content, aGroupClass(row.more), context);
  expect(planned).toEqual({ kind: 'error', message: row.message });
});

it('given a reference without the names of its group snapshot, then the metadata are sent empty', () => {
  const content = aGroupContent();
  const unnamed = { ...content, spec: { ...content.spec!, volumeGroupSnapshotRef: { uid: snapshotUid } } };
  expect(planCreation(unnamed, aGroupClass(), context)).toMatchObject({
    value: {
      request: {
        parameters: {
          'csi.storage.k8s.io/volumegroupsnapshot/name': '',
          'csi.storage.k8s.io/volumegroupsnapshot/namespace': '',
          'csi.storage.k8s.io/volumegroupsnapshotcontent/name': 'group',
        },
      },
    },
  });
});

it('given a group that was there before its content, when its handle is empty, then the driver is not asked', () => {
  const handles = { volumeGroupSnapshotHandle: '', volumeSnapshotHandles: ['snapshot-1'] };
  const message =
    'failed to list group snapshot for group snapshot content group: "the group snapshot content has an empty handle"';
  expect(planQuery(aGroupContent({ handles }), aGroupClass())).toEqual({ kind: 'error', message });
});

it.each([
  { given: 'one handle', source: 'a', asked: 'a', saved: 'a' },
  { given: 'another handle in its status', source: 'a', status: 'b', asked: 'b', saved: 'a' },
  { given: 'a handle in its status only', source: '', status: 'b', asked: 'b', saved: 'b' },
])('given a group with $given, then the driver is asked for $asked, and the status keeps $saved', (row) => {
  const handles = { volumeGroupSnapshotHandle: row.source, volumeSnapshotHandles: ['snapshot-1'] };
  const status = { volumeGroupSnapshotHandle: row.status ?? '' };
  const planned = planQuery(aGroupContent({ handles, className: null, status }), undefined);
  if (planned.kind === 'error') throw new Error(planned.message);
  const { request, readAnswer, noSecret } = planned.value;
  expect(request).toEqual({ group_snapshot_id: row.asked, snapshot_ids: ['snapshot-1'] });
  const group = {
    group_snapshot_id: 'c',
    snapshots: [],
    creation_time: { seconds: '1', nanos: 0 },
    ready_to_use: true,
  };
  expect(readAnswer({ group_snapshot: group })).toMatchObject({
    value: { handle: row.saved, createdAt: 1_000_000_000 },
  });
  expect(noSecret('no')).toBe('failed to get credentials for group snapshot content group: no');
});

it('given a class whose secret cannot be named, then a group that was there before its content is not asked for', () => {
  const handles = { volumeGroupSnapshotHandle: 'a', volumeSnapshotHandles: ['snapshot-1'] };
  const parameters = { 'csi.storage.k8s.io/group-snapshotter-get-secret-name': 'x' };
  const message = expect.stringMatching(
    /^failed to get secret reference for group snapshot content group: ./,
  ) as string;
  expect(planQuery(aGroupContent({ handles }), aGroupClass({ parameters }))).toEqual({ kind: 'error', message });
});

it('given a group without members, then neither a query nor a deletion is sent, because the protocol requires them', () => {
  const handles = { volumeGroupSnapshotHandle: 'group-1', volumeSnapshotHandles: [] };
  const content = aGroupContent({ handles });
  expect(planQuery(content, aGroupClass())).toMatchObject({ kind: 'error' });
  expect(planDeletion(content)).toEqual({
    kind: 'error',
    message: 'cannot delete group snapshot content group. No snapshots found in the group snapshot',
  });
});
