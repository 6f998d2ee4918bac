// SPDX-License-Identifier: Apache-2.0
/**
 * The life of a volume, attached, detached and deleted, with an API server that dies at the answer to one of the attacher's writes, and
 * with others who go on as soon as it is back. Nothing may end stuck: the volume is attached, comes off its node, and its objects end.
 */
import { persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import type { Fault, FaultRule } from '@csi-sidecars/runtime/testing';
import { addOutage, type OutageOptions } from '@csi-sidecars/test-driver/testing';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture, handle } from '../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, aVolume, finalizer } from '../testing/builders.ts';
import { isDeleting } from './attachment.ts';
import { annotations } from './names.ts';

const nodeId = 'id-of-node1';
/** Longer than the longest outage and the backoff that it leads to. */
const longEnough = 120_000;

const writes = [
  'patch persistentvolumes',
  'patch volumeattachments',
  'patch volumeattachments/status',
  'patch volumeattachments',
  'patch persistentvolumes',
];

/** A call of another attacher to the driver. */
function callOfAnother(a: Fixture, method: 'ControllerPublishVolume' | 'ControllerUnpublishVolume'): void {
  const capability = { mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
  const request = { volume_id: handle, node_id: nodeId, volume_capability: capability, readonly: false };
  void a.driver.channel().call(`/csi.v1.Controller/${method}`, request, { timeoutMs: 1_000 });
}

const remove = (a: Fixture): void => a.server.objects.remove(volumeAttachments, { name: 'va1' });

/** What has happened by the time at which the attacher knows of it. */
const others: Readonly<Record<string, (a: Fixture) => void>> = {
  'nothing else happens': () => undefined,
  'the attachment is deleted': (a) => {
    if (a.attachment() !== undefined) a.delete();
  },
  'a second replica finishes': (a) => {
    const attachment = a.attachment();
    if (attachment === undefined) return;
    if (isDeleting(attachment)) {
      callOfAnother(a, 'ControllerUnpublishVolume');
      remove(a);
      return;
    }
    callOfAnother(a, 'ControllerPublishVolume');
    a.change('va1', ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, finalizers: [finalizer], annotations: { [annotations.nodeId]: nodeId } },
      status: { attached: true },
    }));
  },
  'the attachment is replaced by another one of its name': (a) => {
    const volume = a.volume();
    if (volume === undefined || volume.metadata?.deletionTimestamp !== undefined) return;
    if (a.attachment() !== undefined) {
      callOfAnother(a, 'ControllerUnpublishVolume');
      remove(a);
    }
    a.server.seed(anAttachment({ uid: 'another' }));
  },
};

interface Life extends Omit<OutageOptions, 'back'> {
  readonly other: string;
  /** When the other one acts, after the return of the API server. */
  readonly afterMs: number;
}

/** Whether the volume was attached, what is left at the end, and the write whose answer was lost. */
async function live({ other, afterMs, ...outage }: Life) {
  const a = await anAttacher({ seed: [aVolume({ finalizers: [] }), aCsiNode()] });
  const died = addOutage(a, { ...outage, back: [{ afterMs, happens: () => others[other]?.(a) }] });
  a.server.seed(anAttachment());
  await a.clock.advance(longEnough);
  const attachment = a.attachment();
  const isAttached = attachment?.status?.attached === true && a.publishedOn().includes(nodeId);
  const wasUseful = attachment === undefined || isAttached;
  // The second time the one that was made while the first one left.
  for (const _time of ['first', 'second']) {
    if (a.attachment() !== undefined) a.delete();
    await a.clock.advance(longEnough);
  }
  const published = a.publishedOn();
  a.server.objects.delete(persistentVolumes, { name: 'pv1' });
  await a.clock.advance(longEnough);
  const left = { wasUseful, published, attachment: a.attachment(), volume: a.volume(), write: died.write() };
  await a.stop();
  return left;
}

const nothingLeft = { wasUseful: true, published: [], attachment: undefined, volume: undefined };
const delays = (other: string): readonly number[] => (other === 'nothing else happens' ? [0] : [100, 1_000, 5_000]);

describe.each(['beforeCommit', 'afterCommit'] as const)('a write whose answer is lost, %s', (lost) => {
  for (const [write, name] of writes.entries()) {
    it.each(Object.keys(others))(
      `given the answer to write ${write}, ${name}, is lost, when %s, then the volume is attached, detached and deleted`,
      async (other) => {
        for (const awayMs of [500, 2_000, 10_000, 30_000]) {
          for (const afterMs of delays(other)) {
            const left = await live({ write, lost, awayMs, other, afterMs });
            expect({ awayMs, afterMs, ...left }).toEqual({ awayMs, afterMs, ...nothingLeft, write: name });
          }
        }
      },
    );
  }
});

describe('an error that is written after a write without an answer', () => {
  const lost: Fault = { kind: 'break', point: 'after', failure: 'eof' };
  const slow: Fault = { kind: 'delay', ms: 1_000 };

  it('[attacher#59] given the mark has no answer, when a second replica attaches the volume before the error is written, then no error is written', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    a.fault('patch volumeattachments', lost);
    a.fault('patch volumeattachments/status', slow);
    a.server.seed(anAttachment());
    await a.settle();
    others['a second replica finishes']?.(a);
    await a.clock.advance(longEnough);
    expect([a.writes(), a.attachment()?.status]).toEqual([
      ['patch volumeattachments va1 200', 'patch volumeattachments/status va1 409'],
      { attached: true },
    ]);
    await a.stop();
  });

  it('[attacher#9] given others change the attachment at that moment, then it is read and gets the error, and a retry attaches the volume', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    a.fault('patch volumeattachments', lost);
    let isDue = true;
    const overtakes: FaultRule['when'] = ({ subresource }) => {
      if (isDue && subresource === 'status') {
        isDue = false;
        a.change('va1', (it) => ({ ...it, metadata: { ...it.metadata, managedFields: [{ manager: 'other' }] } }));
      }
      return false;
    };
    a.faults.push({ when: overtakes, fault: lost });
    a.server.seed(anAttachment());
    await a.clock.advance(100);
    const status = 'patch volumeattachments/status va1';
    expect(a.writes()).toEqual(['patch volumeattachments va1 200', `${status} 409`, `${status} 200`]);
    expect(a.attachment()?.status?.attachError?.message).toBe(
      'could not save VolumeAttachment: injected fault: eof after the commit',
    );
    await a.clock.advance(longEnough);
    expect([a.writes().slice(3), a.attachment()?.status]).toEqual([
      [`${status} 200`],
      { attached: true, attachmentMetadata: expect.anything() },
    ]);
    await a.stop();
  });

  it('[attacher#79] given the status of a detached attachment has no answer, and others hold the attachment, then it shows that it is detached, and no error', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode(), anAttachment({ finalizers: ['x/y'] })] });
    a.server.clearRequests();
    a.fault('patch volumeattachments/status', lost);
    a.delete();
    await a.clock.advance(longEnough);
    expect([a.writes(), a.attachment()?.status, a.publishedOn()]).toEqual([
      ['patch volumeattachments va1 200', 'patch volumeattachments/status va1 200'],
      { attached: false },
      [],
    ]);
    await a.stop();
  });

  it('[attacher#68] given a user removes our finalizer during the publish and deletes the attachment, when the unpublish fails, then the error is written', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    a.driver.faults.add({ method: 'ControllerPublishVolume', at: 'after', action: { kind: 'delay', ms: 5_000 } });
    a.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 2, action: { kind: 'fail', code: 'Internal' } });
    a.server.seed(anAttachment({ finalizers: ['x/y'] }));
    await a.clock.advance(1_000);
    a.change('va1', (it) => ({ ...it, metadata: { ...it.metadata, finalizers: ['x/y'] } }));
    a.delete();
    await a.clock.advance(4_100);
    expect(a.attachment()?.status?.detachError?.message).toMatch(/Internal/);
    await a.clock.advance(longEnough);
    expect(a.publishedOn()).toEqual([]);
    await a.stop();
  });
});
