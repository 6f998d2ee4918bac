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

it('given a group without members, then neither a query nor a deletion is sent, because the protocol requires them', () => {
  const handles = { volumeGroupSnapshotHandle: 'group-1', volumeSnapshotHandles: [] };
  const content = aGroupContent({ handles });
  expect(planQuery(content, aGroupClass())).toMatchObject({ kind: 'error' });
  expect(planDeletion(content)).toEqual({
    kind: 'error',
    message: 'cannot delete group snapshot content group. No snapshots found in the group snapshot',
  });
});
