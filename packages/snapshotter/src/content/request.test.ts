// SPDX-License-Identifier: Apache-2.0
/** Requests that cannot be made, each with upstream's text, and what a content without the names of its snapshot sends. */
import { expect, it } from 'vitest';
import { aClass, aContent, aDriver, someSettings, snapshotUid } from '../../testing/builders.ts';
import { planCreation, planQuery } from './request.ts';

const notBound = 'cannot create snapshot. Snapshot content content not bound to a snapshot';
const context = { settings: someSettings({ extraCreateMetadata: true }), driver: aDriver() };

it.each([
  {
    given: 'it is bound to no snapshot',
    content: aContent({ refUid: '' }),
    cause: notBound,
  },
  { given: 'its reference has no UID', content: aContent({ refUid: null }), cause: notBound },
  {
    given: 'it names no volume',
    content: aContent({ volume: null }),
    volume: '',
    cause: 'cannot create snapshot. Volume handle not found in snapshot content content',
  },
])('given a content to create, when $given, then no request is made, and the message says so', (row) => {
  const { content, volume = 'volume-1', cause } = row;
  const message = `failed to take snapshot of the volume ${volume}: "${cause}"`;
  expect(planCreation(content, aClass(), context)).toEqual({ kind: 'error', message });
});

it('given the gate of topologies off, then those of the class are not read', () => {
  const found = aClass({ allowedTopologies: 'garbage' as never });
  const planned = planCreation(aContent(), found, { ...context, settings: someSettings() });
  const request = { name: `snapshot-${snapshotUid}`, source_volume_id: 'volume-1', parameters: {} };
  expect(planned).toStrictEqual({ kind: 'ok', value: { reference: undefined, request } });
});

it('given a reference without the names of its snapshot, then the metadata are sent empty', () => {
  const content = aContent();
  const unnamed = { ...content, spec: { ...content.spec!, volumeSnapshotRef: { uid: snapshotUid } } };
  expect(planCreation(unnamed, aClass(), context)).toMatchObject({
    value: {
      request: {
        parameters: {
          'csi.storage.k8s.io/volumesnapshot/name': '',
          'csi.storage.k8s.io/volumesnapshot/namespace': '',
          'csi.storage.k8s.io/volumesnapshotcontent/name': 'content',
        },
      },
    },
  });
});

it.each([
  { given: 'one handle', handles: { source: 'a' }, asked: 'a', saved: 'a' },
  { given: 'another handle in its status', handles: { source: 'a', status: 'b' }, asked: 'b', saved: 'a' },
  { given: 'a handle in its status only', handles: { source: '', status: 'b' }, asked: 'b', saved: 'b' },
])(
  'given a content with $given, then the driver is asked for $asked, and the status keeps $saved',
  ({ handles, asked, saved }) => {
    const content = aContent({
      handle: handles.source,
      className: null,
      status: { snapshotHandle: handles.status ?? '' },
    });
    const planned = planQuery(content, undefined, { ...context, driver: aDriver({ controller: [] }) });
    const assumed = {
      handle: saved,
      isReady: true,
      groupHandle: '',
      topologies: [],
      createdAt: undefined,
      size: undefined,
    };
    expect(planned).toStrictEqual({
      kind: 'ok',
      value: {
        reference: undefined,
        noSecret: expect.any(Function) as unknown,
        request: { snapshot_id: asked },
        assumed,
        readAnswer: expect.any(Function) as unknown,
      },
    });
  },
);

it('given a content without a handle, then the driver is not asked, because an empty filter lists all snapshots', () => {
  const message = 'failed to list snapshot for content content: "can not find snapshot for snapshotID "';
  expect(planQuery(aContent(), aClass(), context)).toEqual({ kind: 'error', message });
});
