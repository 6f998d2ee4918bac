// SPDX-License-Identifier: Apache-2.0
/** Attaching when writes, calls or other people get in the way. */
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

/** One backoff delay with its spread. */
const firstRetryMs = 1_150;

function refuse(what: string, fault: FaultRule['fault'], times = 1): FaultRule {
  return {
    when: ({ verb, resource, subresource }) =>
      `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}` === what,
    fault,
    times,
  };
}

/** Nothing to attach yet, so that a test can prepare the driver; then the attachment is made. */
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

/** Somebody takes the finalizers off and the object away. */
const remove = (a: Fixture): void => a.server.objects.remove(volumeAttachments, { name: 'va1' });

describe('a write that fails', () => {
  it('[attacher#39] given patch and error are refused, when tried again, then both follow, and one publish in all', async () => {
    const faults = [refuse('patch volumeattachments', forbidden), refuse('patch volumeattachments/status', forbidden)];
    const a = await anAttacher({ faults });
    expect([a.writes(), a.calls()]).toEqual([[], []]);
    await a.clock.advance(firstRetryMs);
    expect([a.writes(), a.calls()]).toEqual([[marked, saved], [published]]);
  });

  it('[attacher#40] given the status is refused once, then no error is told, and it is published a second time', async () => {
    const a = await anAttacher({ faults: [refuse('patch volumeattachments/status', internalError)] });
    expect([a.writes(), a.calls(), a.attachment()?.status]).toEqual([[marked], [published], { attached: false }]);
    await a.clock.advance(firstRetryMs);
    expect([a.writes(), a.calls()]).toEqual([
      [marked, saved],
      [published, published],
    ]);
  });

  it('[attacher#53] given the cache does not know that the volume is being deleted, then the error of the server', async () => {
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

  it('[attacher#54] given the volume got finalizers that the cache does not know, then ours is added without a second try', async () => {
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

  it('[attacher#55] given two nodes at once, then the volume gets our finalizer once, in one request, flaw 5', async () => {
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
    // The driver allows one call for a volume at a time.
    await a.clock.advance(firstRetryMs);
    expect([a.attachment('va1')?.status?.attached, a.attachment('va2')?.status?.attached]).toEqual([true, true]);
  });

  it('given a finalizer that somebody took off the attachment meanwhile, then ours does not bring it back, flaw 4', async () => {
    const a = await anAttacher({
      seed: [anAttachment({ finalizers: ['other/x'] }), aVolume()],
      faults: [refuse('watch volumeattachments', { kind: 'lag', ms: 20_000 })],
    });
    await a.clock.advance(300_000);
    a.change('va1', (attachment) => ({ ...attachment, metadata: { ...attachment.metadata, finalizers: ['new/y'] } }));
    a.server.seed(aCsiNode());
    await a.settle();
    expect(a.attachment()?.metadata?.finalizers).toEqual(['new/y', finalizer]);
  });
});

describe('a publish that fails', () => {
  it('[attacher#41] given an error of the driver, then it is told with its code and time, and a success clears it', async () => {
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
    expect(a.attachment()?.status?.attachError).toBeUndefined();
  });

  it('[attacher#42] given no answer in time, then the error, and finalizer and node id stay', async () => {
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

  it('[attacher#43] given the node is full, then code 8, and a success clears all of it', async () => {
    const a = await prepared((b) => failOnce(b, 'ResourceExhausted'));
    expect(a.attachment()?.status?.attachError).toMatchObject({
      message: 'rpc error: code = ResourceExhausted desc = no',
      errorCode: 8,
    });
    await a.clock.advance(firstRetryMs);
    expect(a.attachment()?.status?.attachError).toBeUndefined();
  });

  it('[attacher#44] given the gate off, then no code', async () => {
    const a = await prepared((b) => failOnce(b, 'ResourceExhausted'), {
      settings: { features: { errorCodes: false } },
    });
    expect(a.attachment()?.status?.attachError).toEqual({
      message: 'rpc error: code = ResourceExhausted desc = no',
      time: expect.any(String),
    });
  });

  it('[attacher#45] given a failure that is none of the driver after one that is, then the code goes, flaw 27', async () => {
    const a = await prepared((b) => failOnce(b, 'ResourceExhausted'));
    a.server.objects.remove(csiNodes, { name: 'node1' });
    await a.clock.advance(firstRetryMs);
    expect(a.attachment()?.status?.attachError).toEqual({
      message: 'csinode.storage.k8s.io "node1" not found',
      time: expect.any(String),
    });
    expect(a.bodies().at(-1)).toMatchObject({ status: { attachError: { errorCode: null } } });
  });

  it('given a text longer than the server takes, then what fits of it is told, whole characters only, flaw 15', async () => {
    const message = `${'x'.repeat(990)}${'ü'.repeat(50)}`;
    const a = await prepared((b) =>
      b.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'fail', code: 'Internal', message } }),
    );
    const told = a.attachment()?.status?.attachError?.message ?? '';
    expect(Buffer.byteLength(told)).toBeLessThanOrEqual(1024);
    expect(told).toBe(`rpc error: code = Internal desc = ${message}`.slice(0, told.length));
    expect(Buffer.byteLength(told)).toBeGreaterThan(1020);
  });

  it('[attacher#60] given the same failure again within a second, then it is told again, and nothing else happens', async () => {
    const a = await prepared((b) => failOnce(b), { settings: { retryIntervalStartMs: 100 } });
    failOnce(a);
    const before = a.attachment()?.status;
    await a.clock.advance(115);
    expect([a.attachment()?.status, a.calls().length]).toEqual([before, 2]);
  });
});

describe('news of own writes', () => {
  it('[attacher#47] given the first attempt fails quickly, then the next comes after the backoff, not at once, flaw 1', async () => {
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

  it('[attacher#48] given the watch is behind, then what is attached is not published again, flaw 1', async () => {
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

describe('an attachment that goes away', () => {
  it('[attacher#49] given it is deleted during the publish, then it is detached as soon as that ends', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    a.delete();
    await a.clock.advance(4_000);
    expect([a.calls(), a.attachment(), a.publishedOn()]).toEqual([[published, unpublished], undefined, []]);
  });

  it('[attacher#49] given the publish fails as well, then the same', async () => {
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

  it('[attacher#50] given it goes before it was seen, then nothing is left to do', async () => {
    const a = await anAttacher({
      seed: [aVolume(), aCsiNode(), anAttachment({ deleting: 'yes', finalizers: ['x/y'] })],
    });
    expect([a.writes(), a.calls()]).toEqual([[], []]);
  });

  it('[attacher#51] given somebody takes it away by force during the publish, then the volume is taken off the node', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    remove(a);
    await a.clock.advance(4_000);
    expect([a.calls(), a.publishedOn()]).toEqual([[published, unpublished], []]);
    await a.clock.advance(600_000);
    expect(a.calls().length).toBe(2);
  });

  it('[attacher#51] given the driver refuses to take it back, then that is tried again', async () => {
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

  it('[attacher#51] given it is made again under its name, then the old one is taken back before the new one is published', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    remove(a);
    a.server.seed(anAttachment({ uid: 'another' }));
    await a.clock.advance(10_000);
    expect(a.calls()).toEqual([published, unpublished, published]);
    expect([a.attachment()?.status?.attached, a.publishedOn()]).toEqual([true, ['id-of-node1']]);
  });

  it('[attacher#51] given another attachment wants the volume on that node, then it stays', async () => {
    const a = await prepared(slow);
    await a.clock.advance(1_000);
    remove(a);
    a.server.seed(anAttachment({ name: 'va2' }));
    await a.clock.advance(10_000);
    expect(a.attachment('va2')?.status?.attached).toBe(true);
    expect([a.calls(), a.publishedOn()]).toEqual([[published, published], ['id-of-node1']]);
    expect(a.logger.messages().filter((message) => message.startsWith('Reconcile failed'))).toEqual([]);
  });

  it('[attacher#52] given the cache does not know that it is gone, then one request says so, and no more', async () => {
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
      ['patch volumeattachments/status va1 422'],
      { attached: false },
    ]);
  });
});

describe('one call for a volume and a node', () => {
  it('given two attachments of one volume to one node, then their calls do not overlap', async () => {
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

  it('[attacher#58,59] given the volume is being deleted, then the error is told although it says attached', async () => {
    const seed: readonly KubeObject[] = [anAttachment(attached), aVolume({ deleting: 'yes' }), aCsiNode()];
    const a = await anAttacher({ ...compare, seed });
    expect(a.attachment()?.status).toMatchObject({
      attached: true,
      attachError: { message: 'PersistentVolume "pv1" is marked for deletion' },
    });
    expect(a.calls()).toEqual(['ListVolumes OK']);
  });
});
