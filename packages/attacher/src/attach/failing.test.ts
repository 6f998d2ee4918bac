// SPDX-License-Identifier: Apache-2.0
/** Attaching when writes and calls fail, watches lag, or others change the object. */
import { csiNodes, type KubeObject, persistentVolumes, volumeAttachments } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import {
  anAttacher,
  type Fixture,
  type FixtureOptions,
  forbidden,
  internalError,
} from '../../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, attached, aVolume, driverName, finalizer } from '../../testing/builders.ts';
import { annotations } from '../names.ts';

const published = 'ControllerPublishVolume volume-1 id-of-node1 OK';
const unpublished = 'ControllerUnpublishVolume volume-1 id-of-node1 OK';
const marked = 'patch volumeattachments va1 200';
const saved = 'patch volumeattachments/status va1 200';

/** The first backoff delay with the most jitter. */
const firstRetryMs = 1_150;

function refuse(what: string, fault: FaultRule['fault'], times = 1): FaultRule {
  return {
    when: ({ verb, resource, subresource }) =>
      `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}` === what,
    fault,
    times,
  };
}

/** An attacher with nothing to attach while the test prepares the driver. The attachment is created after that. */
async function prepared(prepare: (a: Fixture) => void, options: FixtureOptions = {}): Promise<Fixture> {
  const a = await anAttacher({ seed: [aVolume(), aCsiNode()], ...options });
  prepare(a);
  a.server.seed(anAttachment());
  await a.settle();
  return a;
}

const failOnce = (a: Fixture, code: 'Internal' | 'ResourceExhausted' = 'Internal'): void => {
  const action = { kind: 'fail', code, message: 'no' } as const;
  a.driver.faults.add({ method: 'ControllerPublishVolume', times: 1, action });
};
const slow = (a: Fixture, at: 'before' | 'after' = 'after'): void => {
  a.driver.faults.add({ method: 'ControllerPublishVolume', times: 1, at, action: { kind: 'delay', ms: 5_000 } });
};

/** As if a user had removed the finalizers and the object. */
const remove = (a: Fixture): void => a.server.objects.remove(volumeAttachments, { name: 'va1' });

describe('a write that fails', () => {
  it('[attacher#39] given a patch and an error that are both refused, when the patch is retried, then the volume is published exactly once', async () => {
    const faults = [refuse('patch volumeattachments', forbidden), refuse('patch volumeattachments/status', forbidden)];
    const a = await anAttacher({ faults });
    expect([a.writes(), a.calls()]).toEqual([[], []]);
    await a.clock.advance(firstRetryMs);
    expect([a.writes(), a.calls()]).toEqual([[marked, saved], [published]]);
  });

  it('[attacher#40] given an attached status that is refused once, then no error is written, and the volume is published a second time', async () => {
    const a = await anAttacher({ faults: [refuse('patch volumeattachments/status', internalError)] });
    expect([a.writes(), a.calls(), a.attachment()?.status]).toEqual([[marked], [published], { attached: false }]);
    await a.clock.advance(firstRetryMs);
    expect([a.writes(), a.calls()]).toEqual([
      [marked, saved],
      [published, published],
    ]);
  });

  it('[attacher#53] given a cache that does not show yet that the volume is being deleted, then the error of the server is written', async () => {
    const a = await anAttacher({
      seed: [aVolume({ finalizers: ['other/x'] }), aCsiNode()],
      faults: [refuse('watch persistentvolumes', { kind: 'lag', ms: 20_000 })],
    });
    await a.clock.advance(300_000);
    a.server.objects.change(persistentVolumes, { name: 'pv1' }, (volume) => ({
      ...volume,
      metadata: { ...volume.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    }));
    await a.settle();
    a.server.seed(anAttachment());
    await a.settle();
    expect(a.attachment()?.status?.attachError?.message).toMatch(
      /^could not add PersistentVolume finalizer: .*no new finalizers can be added/,
    );
    expect(a.calls()).toEqual([]);
  });

  it('[attacher#54] given finalizers of the volume that the cache does not show yet, then ours is added without a retry', async () => {
    const a = await anAttacher({
      seed: [aVolume({ finalizers: [] }), aCsiNode()],
      faults: [refuse('watch persistentvolumes', { kind: 'lag', ms: 20_000 })],
    });
    await a.clock.advance(300_000);
    a.server.objects.change(persistentVolumes, { name: 'pv1' }, (volume) => ({
      ...volume,
      metadata: { ...volume.metadata, finalizers: ['other/x'] },
    }));
    a.server.seed(anAttachment());
    await a.settle();
    expect(a.writes()).toEqual(['patch persistentvolumes pv1 200', marked, saved]);
    expect(a.volume()?.metadata?.finalizers).toEqual(['other/x', finalizer]);
  });

  it('[attacher#55] given one volume for two nodes at once, then one request adds our finalizer once (upstream: twice)', async () => {
    const capability = { accessModes: ['ReadWriteMany'] };
    const a = await anAttacher({
      seed: [
        anAttachment(),
        anAttachment({ name: 'va2', node: 'node2' }),
        aVolume({ finalizers: ['other/x'], spec: capability }),
        aCsiNode(),
        aCsiNode('node2'),
      ],
    });
    expect(a.writes().filter((line) => line.includes('persistentvolumes'))).toEqual([
      'patch persistentvolumes pv1 200',
    ]);
    expect(a.volume()?.metadata?.finalizers).toEqual(['other/x', finalizer]);
    // The driver allows one call at a time for a volume, so the second node is attached by a retry.
    await a.clock.advance(firstRetryMs);
    expect([a.attachment('va1')?.status?.attached, a.attachment('va2')?.status?.attached]).toEqual([true, true]);
  });

  it('[attacher#A11, 36] given a cache that does not show yet that another process has attached the volume under a newer node id, then that id stays, and nothing is called', async () => {
    const late = refuse('watch volumeattachments', { kind: 'lag', ms: 20_000 }, 99);
    const a = await anAttacher({ seed: [anAttachment(), aVolume()], faults: [late] });
    await a.clock.advance(300_000);
    a.server.clearRequests();
    const metadata = { finalizers: [finalizer], annotations: { [annotations.nodeId]: 'newer-id' } };
    a.change('va1', (it) => ({ ...it, metadata: { ...it.metadata, ...metadata }, status: { attached: true } }));
    a.server.seed(aCsiNode());
    await a.clock.advance(600_000);
    expect([a.writes(), a.calls()]).toEqual([['patch volumeattachments va1 409'], []]);
    expect(a.attachment()).toMatchObject({ metadata, status: { attached: true } });
    expect(a.attachment()?.status).toEqual({ attached: true });
    await a.stop();
  });

  it('[attacher#A11] given an attachment that others change while it is marked, then it is read and marked again at once', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    let isDue = true;
    const overtakes: FaultRule['when'] = ({ verb, resource }) => {
      if (!isDue || verb !== 'patch' || resource !== 'volumeattachments') return false;
      isDue = false;
      a.change('va1', (it) => ({ ...it, metadata: { ...it.metadata, labels: { some: 'thing' } } }));
      return false;
    };
    a.faults.push({ when: overtakes, fault: forbidden });
    a.server.seed(anAttachment());
    await a.settle();
    expect([a.writes(), a.calls()]).toEqual([['patch volumeattachments va1 409', marked, saved], [published]]);
    await a.stop();
  });

  it('[attacher#A11] given an attachment that is deleted while it is marked, then nothing is called, and no error is written', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    let isDue = true;
    const overtakes: FaultRule['when'] = ({ verb, resource }) => {
      if (isDue && verb === 'patch' && resource === 'volumeattachments') {
        isDue = false;
        a.delete();
      }
      return false;
    };
    a.faults.push({ when: overtakes, fault: forbidden });
    a.server.seed(anAttachment({ finalizers: ['x/y'] }));
    await a.clock.advance(60_000);
    expect([a.writes(), a.calls(), a.attachment()?.status]).toEqual([
      ['patch volumeattachments va1 409'],
      [],
      { attached: false },
    ]);
    await a.stop();
  });

  it('[attacher#A11] given a server that answers 409 although the attachment has not changed, then the error is written, and the next attempt waits for the backoff', async () => {
    const fault = { kind: 'status', point: 'before', code: 409, reason: 'Conflict' } as const;
    const a = await anAttacher({ faults: [refuse('patch volumeattachments', fault, 2)] });
    expect([a.writes(), a.calls(), a.attachment()?.status?.attachError?.message]).toEqual([
      [saved],
      [],
      expect.stringContaining('could not save VolumeAttachment'),
    ]);
    await a.clock.advance(10_000);
    expect([a.calls(), a.attachment()?.status?.attached]).toEqual([[published], true]);
    await a.stop();
  });

  it('given a finalizer of others that was removed meanwhile, then adding ours does not restore it (upstream restores it)', async () => {
    const a = await anAttacher({
      seed: [anAttachment({ finalizers: ['other/x'] }), aVolume()],
      faults: [refuse('watch volumeattachments', { kind: 'lag', ms: 20_000 })],
    });
    await a.clock.advance(300_000);
    a.change('va1', (attachment) => ({ ...attachment, metadata: { ...attachment.metadata, finalizers: ['new/y'] } }));
    a.server.seed(aCsiNode());
    await a.settle();
    await a.clock.advance(10);
    expect(a.attachment()?.metadata?.finalizers).toEqual(['new/y', finalizer]);
  });
});

describe('a publish that fails', () => {
  it('[attacher#41] given a publish that fails, then the error is written with its code and time, and a success clears it', async () => {
    const a = await prepared(failOnce);
    expect(a.attachment()?.status).toEqual({
      attached: false,
      attachError: {
        message: 'rpc error: code = Internal desc = no',
        errorCode: 13,
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      },
    });
    await a.clock.advance(firstRetryMs);
    expect(a.attachment()?.status).toMatchObject({ attached: true });
    expect(a.attachment()!.status!.attachError).toBeUndefined();
  });

  it('[attacher#42] given a publish that times out, then the error is written, and our finalizer and the node id stay', async () => {
    const a = await prepared((b) =>
      b.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'hang' } }),
    );
    await a.clock.advance(15_000);
    expect(a.attachment()).toMatchObject({
      metadata: { finalizers: [finalizer], annotations: { [annotations.nodeId]: 'id-of-node1' } },
      status: {
        attachError: { message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded', errorCode: 4 },
      },
    });
    await a.clock.advance(firstRetryMs);
    expect(a.calls().length).toBe(2);
  });

  it('[attacher#43] given a driver that answers ResourceExhausted, then code 8 is written, and a success clears the error', async () => {
    const a = await prepared((b) => failOnce(b, 'ResourceExhausted'));
    expect(a.attachment()?.status?.attachError).toMatchObject({
      message: 'rpc error: code = ResourceExhausted desc = no',
      errorCode: 8,
    });
    await a.clock.advance(firstRetryMs);
    expect(a.attachment()!.status!.attachError).toBeUndefined();
  });

  it('[attacher#44] given the gate MutableCSINodeAllocatableCount is off, then no code is written', async () => {
    const a = await prepared((b) => failOnce(b, 'ResourceExhausted'), {
      settings: { features: { errorCodes: false } },
    });
    expect(a.attachment()?.status?.attachError).toEqual({
      message: 'rpc error: code = ResourceExhausted desc = no',
      time: expect.any(String),
    });
  });

  it('[attacher#45] given a failure without a gRPC code after one with a code, then the code is removed (upstream may keep it)', async () => {
    const a = await prepared((b) => failOnce(b, 'ResourceExhausted'));
    a.server.objects.remove(csiNodes, { name: 'node1' });
    await a.clock.advance(firstRetryMs);
    expect(a.attachment()?.status?.attachError).toEqual({
      message: 'csinode.storage.k8s.io "node1" not found',
      time: expect.any(String),
    });
    expect(a.bodies().at(-1)).toMatchObject({ status: { attachError: { errorCode: null } } });
  });

  it.each([
    { error: 'x'.repeat(991), written: 'x'.repeat(990) },
    { error: `${'x'.repeat(989)}ü`, written: 'x'.repeat(989) },
    { error: `${'x'.repeat(988)}üü`, written: `${'x'.repeat(988)}ü` },
  ])(
    'given an error longer than the server accepts, then it is cut between two characters (upstream: never visible): $error',
    async ({ error: message, written }) => {
      const a = await prepared((b) =>
        b.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'fail', code: 'Internal', message } }),
      );
      expect(a.attachment()?.status?.attachError?.message).toBe(`rpc error: code = Internal desc = ${written}`);
    },
  );

  it('[attacher#60] given the same failure again within a second, then it is written again, and the status stays the same', async () => {
    const a = await prepared((b) => failOnce(b), { settings: { retryIntervalStartMs: 100 } });
    failOnce(a);
    const before = a.attachment()?.status;
    await a.clock.advance(115);
    expect([a.attachment()?.status, a.calls().length]).toEqual([before, 2]);
  });
});

describe('events caused by own writes', () => {
  it('[attacher#47] given a first attempt that fails quickly, then the next attempt waits for the backoff (upstream: its own patch causes it at once)', async () => {
    const a = await prepared((b) => {
      failOnce(b);
      failOnce(b);
    });
    await a.settle();
    expect(a.calls().length).toBe(1);
    await a.clock.advance(900);
    expect(a.calls().length).toBe(1);
    await a.clock.advance(250);
    expect(a.calls().length).toBe(2);
  });

  it('[attacher#48] given a watch that lags, then an attached volume is not published again (upstream: published twice)', async () => {
    const lag = { kind: 'lag', ms: 5_000 } as const;
    const a = await anAttacher({ faults: [refuse('watch volumeattachments', lag, 9)] });
    await a.clock.advance(20_000);
    a.change('va1', (attachment) => ({
      ...attachment,
      metadata: { ...attachment.metadata, labels: { some: 'thing' } },
    }));
    await a.clock.advance(600_000);
    expect(a.calls()).toEqual([published]);
    expect(a.writes()).toEqual([marked, saved]);
  });
});

describe('an attachment that disappears', () => {
  it('[attacher#49] given an attachment that is deleted during its publish, then it is detached as soon as the publish ends', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    a.delete();
    await a.clock.advance(4_000);
    expect([a.calls(), a.attachment(), a.publishedOn()]).toEqual([[published, unpublished], undefined, []]);
  });

  it('[attacher#49] given an attachment that is deleted during a publish that fails, then it is detached as soon as the publish ends', async () => {
    const a = await prepared((b) => {
      slow(b, 'before');
      failOnce(b);
    });
    await a.clock.advance(1_000);
    a.delete();
    await a.clock.advance(4_000);
    expect(a.calls()).toEqual(['ControllerPublishVolume volume-1 id-of-node1 Internal', unpublished]);
    expect(a.attachment()).toBeUndefined();
  });

  it.each([
    { given: 'fails', answer: 'Internal', errorCode: 13, left: 4_000 },
    { given: 'times out', answer: 'no answer', errorCode: 4, left: 14_000 },
  ])(
    '[attacher#A13, 49] given others hold an attachment that is deleted during a publish that $given, then the error is written before the detach, and stays',
    async ({ answer, errorCode, left }) => {
      const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
      const method = 'ControllerPublishVolume';
      if (answer === 'Internal') {
        slow(a, 'before');
        failOnce(a);
      } else a.driver.faults.add({ method, action: { kind: 'hang' } });
      a.server.seed(anAttachment({ finalizers: ['x/y'] }));
      await a.clock.advance(1_000);
      a.delete();
      await a.clock.advance(left);
      expect([a.calls(), a.writes()]).toEqual([
        [`${method} volume-1 id-of-node1 ${answer}`, unpublished],
        [marked, saved, marked],
      ]);
      expect(a.attachment()?.status).toMatchObject({ attached: false, attachError: { errorCode } });
      await a.stop();
    },
  );

  it('[attacher#A13, 68] given an attachment that is deleted during a publish that fails, when its detach fails too, then both errors are written', async () => {
    const a = await prepared((b) => {
      slow(b, 'before');
      failOnce(b);
      const action = { kind: 'fail', code: 'Unavailable' } as const;
      b.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 1, action });
    });
    await a.clock.advance(1_000);
    a.delete();
    await a.clock.advance(4_000);
    expect(a.bodies().slice(1, 3)).toMatchObject([
      { status: { attachError: { message: 'rpc error: code = Internal desc = no', errorCode: 13 } } },
      { status: { detachError: { message: expect.stringContaining('code = Unavailable') } } },
    ]);
    await a.clock.advance(firstRetryMs);
    expect([a.calls().at(-1), a.writes(), a.attachment()]).toEqual([
      unpublished,
      [marked, saved, saved, marked],
      undefined,
    ]);
    await a.stop();
  });

  it('[attacher#A13, 49] given an error that cannot be written for a deleted attachment, then it is detached all the same', async () => {
    const a = await prepared((b) => {
      slow(b, 'before');
      failOnce(b);
      b.fault('patch volumeattachments/status', forbidden, 9);
    });
    await a.clock.advance(1_000);
    a.delete();
    await a.clock.advance(4_000);
    expect([a.calls().at(-1), a.attachment()]).toEqual([unpublished, undefined]);
    await a.stop();
  });

  it('[attacher#50] given an attachment that was deleted before it was seen, without our finalizer, then nothing is called or written', async () => {
    const a = await anAttacher({
      seed: [aVolume(), aCsiNode(), anAttachment({ deleting: 'yes', finalizers: ['x/y'] })],
    });
    expect([a.writes(), a.calls()]).toEqual([[], []]);
  });

  it('[attacher#51] given an attachment that is removed by force during its publish, then the volume is unpublished', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    remove(a);
    await a.clock.advance(4_000);
    expect([a.calls(), a.publishedOn()]).toEqual([[published, unpublished], []]);
    await a.clock.advance(600_000);
    expect(a.calls().length).toBe(2);
  });

  it('[attacher#51] given an attachment that is removed by force and an unpublish that fails, then the unpublish is retried', async () => {
    const a = await prepared((b) => {
      slow(b);
      const action = { kind: 'fail', code: 'Internal' } as const;
      b.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 1, action });
    });
    await a.clock.advance(1_000);
    remove(a);
    await a.clock.advance(5_200);
    expect([a.calls().at(-1), a.publishedOn()]).toEqual([unpublished, []]);
  });

  it('[attacher#51] given an attachment that is removed by force and created again, then the volume is unpublished before it is published for the new object', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    remove(a);
    a.server.seed(anAttachment({ uid: 'another' }));
    await a.clock.advance(10_000);
    expect(a.calls()).toEqual([published, unpublished, published]);
    expect([a.attachment()?.status?.attached, a.publishedOn()]).toEqual([true, ['id-of-node1']]);
  });

  it('[attacher#51] given an attachment that is removed by force and created again by others who attached it, then the volume stays on the node', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    remove(a);
    a.server.seed(anAttachment({ uid: 'another', ...attached }));
    await a.clock.advance(10_000);
    expect([a.calls(), a.publishedOn()]).toEqual([[published], ['id-of-node1']]);
  });

  it('[attacher#51] given an attachment that is removed by force and another one of the same volume and node, then the volume is not unpublished', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    remove(a);
    a.server.seed(anAttachment({ name: 'va2' }));
    await a.clock.advance(10_000);
    expect(a.attachment('va2')?.status?.attached).toBe(true);
    expect([a.calls(), a.publishedOn()]).toEqual([[published, published], ['id-of-node1']]);
    expect(a.logger.messages().filter((message) => message.startsWith('Reconcile '))).toEqual([]);
  });

  it('[attacher#52] given a cache that does not show yet that the attachment is gone, then one request is answered with 404, and no other follows', async () => {
    const a = await anAttacher({
      seed: [anAttachment({ finalizers: [finalizer, 'x/y'] }), aVolume()],
      faults: [refuse('watch volumeattachments', { kind: 'lag', ms: 20_000 }, 9)],
    });
    await a.clock.advance(300_000);
    a.server.clearRequests();
    remove(a);
    a.server.seed(aCsiNode());
    await a.settle();
    expect([a.writes(), a.calls()]).toEqual([['patch volumeattachments va1 404'], []]);
    await a.clock.advance(600_000);
    expect([a.writes(), a.calls()]).toEqual([['patch volumeattachments va1 404'], []]);
  });

  it.each([
    { what: 'patch volumeattachments', calls: [published] },
    { what: 'patch volumeattachments/status', calls: [published, published] },
  ])(
    'given an answer of 404 to $what for an attachment that is there, then the volume stays on the node, and the write is tried again',
    async ({ what, calls }) => {
      const a = await anAttacher({ faults: [refuse(what, { kind: 'status', point: 'before', code: 404 })] });
      await a.clock.advance(firstRetryMs);
      const { attached: isAttached, attachError } = a.attachment()?.status ?? {};
      expect([a.calls(), isAttached, attachError]).toEqual([calls, true, undefined]);
    },
  );

  it('given an object that failed many times, when it is removed and one of the same name is created, then its first retry comes after the first delay', async () => {
    const a = await anAttacher({ seed: [anAttachment(), aVolume()] });
    await a.clock.advance(100_000);
    // Seven attempts failed; the eighth would come at 127 s.
    expect(a.writes().length).toBe(7);
    a.server.clearRequests();
    remove(a);
    await a.settle();
    a.server.seed(anAttachment({ uid: 'another' }));
    await a.settle();
    expect(a.writes()).toEqual([saved]);
    await a.clock.advance(firstRetryMs);
    expect(a.writes()).toEqual([saved, saved]);
  });

  it('[attacher#51] given our finalizer is removed by force during the publish and others hold the object, when it is deleted, then the volume is unpublished', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    slow(a);
    a.server.seed(anAttachment({ finalizers: ['x/y'] }));
    await a.clock.advance(1_000);
    a.change('va1', (attachment) => ({ ...attachment, metadata: { ...attachment.metadata, finalizers: ['x/y'] } }));
    await a.clock.advance(4_000);
    expect([a.calls(), a.attachment()?.status?.attached]).toEqual([[published], true]);
    a.delete();
    await a.settle();
    expect([a.calls(), a.publishedOn()]).toEqual([[published, unpublished], []]);
    expect(a.attachment()?.status).toEqual({ attached: false });
  });

  it('[attacher#51] given our finalizer is removed by force during the publish, when the object is removed after it, then the volume is unpublished', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    slow(a);
    a.server.seed(anAttachment());
    await a.clock.advance(1_000);
    a.change('va1', (attachment) => ({ ...attachment, metadata: { ...attachment.metadata, finalizers: [] } }));
    await a.clock.advance(4_000);
    expect([a.calls(), a.attachment()?.status?.attached]).toEqual([[published], true]);
    remove(a);
    await a.settle();
    expect([a.calls(), a.publishedOn()]).toEqual([[published, unpublished], []]);
  });

  it.each([
    { other: 'of the same node, for another volume', facts: { source: { persistentVolumeName: 'pv2' } } },
    { other: 'of the same volume, for another node', facts: { node: 'node2' } },
  ])(
    '[attacher#51] given another attachment $other, then the volume is unpublished all the same',
    async ({ facts }) => {
      const a = await prepared(slow);
      await a.clock.advance(1_000);
      remove(a);
      a.server.seed(anAttachment({ name: 'va2', ...facts }));
      await a.clock.advance(4_000);
      expect([a.calls(), a.publishedOn()]).toEqual([[published, unpublished], []]);
    },
  );

  it('[attacher#51] given an inline volume and another inline volume on the same node, then the first is unpublished', async () => {
    const inline = (volumeHandle: string) => ({
      inlineVolumeSpec: { csi: { driver: driverName, volumeHandle }, accessModes: ['ReadWriteOnce'] },
    });
    const a = await anAttacher({ seed: [aCsiNode()] });
    slow(a);
    a.server.seed(anAttachment({ source: inline('volume-1') }));
    await a.clock.advance(1_000);
    remove(a);
    a.server.seed(anAttachment({ name: 'va2', source: inline('volume-2') }));
    await a.clock.advance(4_000);
    expect([a.calls().filter((call) => call.includes('volume-1')), a.publishedOn()]).toEqual([
      [published, unpublished],
      [],
    ]);
  });

  it('given an attachment that failed, when another driver gets one of the same name, then that one is left alone', async () => {
    const a = await anAttacher({ seed: [anAttachment(), aVolume()] });
    a.server.clearRequests();
    remove(a);
    a.server.seed(anAttachment({ attacher: 'other', uid: 'another' }));
    a.server.seed(aCsiNode());
    await a.clock.advance(600_000);
    expect([a.writes(), a.calls()]).toEqual([[], []]);
  });

  it('given our finalizer is removed by force from an attached VolumeAttachment, when it is deleted, then nothing is called', async () => {
    const a = await anAttacher();
    a.change('va1', (attachment) => ({ ...attachment, metadata: { ...attachment.metadata, finalizers: [] } }));
    a.delete();
    await a.clock.advance(600_000);
    expect([a.attachment(), a.calls(), a.publishedOn()]).toEqual([undefined, [published], ['id-of-node1']]);
  });

  it('given another object of the same name that the cache does not know yet, when an error is written, then that object stays as it is', async () => {
    const a = await anAttacher({
      seed: [anAttachment(), aVolume({ deleting: 'yes' })],
      faults: [refuse('watch volumeattachments', { kind: 'lag', ms: 20_000 }, 9)],
    });
    await a.clock.advance(300_000);
    a.server.clearRequests();
    remove(a);
    a.server.seed(anAttachment({ uid: 'another' }));
    // The registration of the node wakes the loop before the watch shows the change.
    a.server.seed(aCsiNode());
    await a.settle();
    expect([a.writes(), a.attachment()?.status]).toEqual([
      ['patch volumeattachments/status va1 409'],
      { attached: false },
    ]);
  });
});

describe('one call at a time for a volume and a node', () => {
  it('given two attachments of one volume to one node, then their calls do not overlap, and both are attached', async () => {
    const a = await anAttacher({ seed: [aVolume(), aCsiNode()] });
    slow(a);
    for (const name of ['va1', 'va2']) a.server.seed(anAttachment({ name }));
    await a.clock.advance(4_000);
    expect(a.driver.calls.length).toBe(1);
    await a.clock.advance(3_000);
    expect(a.calls()).toEqual([published, published]);
    expect([a.attachment('va1')?.status?.attached, a.attachment('va2')?.status?.attached]).toEqual([true, true]);
  });
});

describe('a forced run', () => {
  const compare = { controller: ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] } as const;

  it('[attacher#58,59] given an attached volume that is being deleted and that the driver does not list, then the forced run writes the error and keeps attached', async () => {
    const seed: readonly KubeObject[] = [anAttachment(attached), aVolume({ deleting: 'yes' }), aCsiNode()];
    const a = await anAttacher({ ...compare, seed });
    expect(a.attachment()?.status).toMatchObject({
      attached: true,
      attachError: { message: 'PersistentVolume "pv1" is marked for deletion' },
    });
    expect(a.calls()).toEqual(['ListVolumes OK']);
  });
});
