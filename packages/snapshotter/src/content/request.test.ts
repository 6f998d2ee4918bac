// SPDX-License-Identifier: Apache-2.0
/** Requests that cannot be made, each with upstream's text, and what a content without the names of its snapshot sends. */
import { expect, it } from 'vitest';
import { aClass, aContent, aDriver, someSettings, snapshotUid } from '../../testing/builders.ts';
import { planCreation, planQuery } from './request.ts';

const context = { settings: someSettings({ extraCreateMetadata: true }), driver: aDriver() };

it.each([
  {
    given: 'it is bound to no snapshot',
    content: aContent({ refUid: '' }),
    cause: 'cannot create snapshot. Snapshot content content not bound to a snapshot',
  },
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

it('given a content without a handle, then the driver is not asked, because an empty filter lists all snapshots', () => {
  const message = 'failed to list snapshot for content content: "can not find snapshot for snapshotID "';
  expect(planQuery(aContent(), aClass(), context)).toEqual({ kind: 'error', message });
});
