// SPDX-License-Identifier: Apache-2.0
/** From a VolumeAttachment to a published volume, on an API server and a driver. */
import { describe, expect, it } from 'vitest';
import { aCsiNode, anAttachment, aVolume, finalizer } from '../../testing/builders.ts';
import { anAttacher } from '../../testing/attacher-fixture.ts';

const published = 'ControllerPublishVolume volume-1 id-of-node1 OK';

describe('the order of writes', () => {
  it('[attacher#1] given a new attachment of a volume with our finalizer, then its patch, the publish, its status', async () => {
    const a = await anAttacher();
    expect(a.writes()).toEqual(['patch volumeattachments va1 200', 'patch volumeattachments/status va1 200']);
    expect(a.calls()).toEqual([published]);
    expect(a.attachment()?.status).toEqual({
      attached: true,
      attachmentMetadata: { 'test-driver/attachment': 'volume-1 on id-of-node1' },
    });
    expect(a.attachment()?.metadata).toMatchObject({
      finalizers: [finalizer],
      annotations: { 'csi.alpha.kubernetes.io/node-id': 'id-of-node1' },
    });
  });

  it('[attacher#3] given a volume without our finalizer, then it gets that first', async () => {
    const a = await anAttacher({ seed: [anAttachment(), aVolume({ finalizers: ['other/x'] }), aCsiNode()] });
    expect(a.writes()).toEqual([
      'patch persistentvolumes pv1 200',
      'patch volumeattachments va1 200',
      'patch volumeattachments/status va1 200',
    ]);
    expect(a.volume()?.metadata?.finalizers).toEqual(['other/x', finalizer]);
  });

  it('[attacher#61] given an attached one that is deleted, then unpublish and one patch', async () => {
    const a = await anAttacher();
    a.server.clearRequests();
    a.driver.forgetCalls();
    a.delete();
    await a.settle();
    expect(a.calls()).toEqual(['ControllerUnpublishVolume volume-1 id-of-node1 OK']);
    expect(a.writes()).toEqual(['patch volumeattachments va1 200']);
    expect(a.attachment()).toBeUndefined();
  });
});
