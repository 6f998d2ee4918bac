// SPDX-License-Identifier: Apache-2.0
/** The comparison and the attach loop together, with a driver whose volumes others publish and unpublish. */
import { csiNodes } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture, type FixtureOptions, handle } from '../../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, attached, aVolume } from '../../testing/builders.ts';

const list = 'ListVolumes OK';
const publish = `ControllerPublishVolume ${handle} id-of-node1`;
const unpublish = `ControllerUnpublishVolume ${handle} id-of-node1`;
const isAttached = anAttachment(attached);
const saved = 'patch volumeattachments/status va1 200';

/** An attacher that compares every minute, for the first time as soon as the caches are synced. */
function comparing(seed: FixtureOptions['seed'], options: FixtureOptions = {}): Promise<Fixture> {
  const controller = ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES'] as const;
  return anAttacher({ ...options, controller, ...(seed === undefined ? {} : { seed }) });
}

/** Publishes or unpublishes `volume-1` at the driver without csi-attacher. */
async function callDriverDirectly(p: Fixture, what: 'Publish' | 'Unpublish', nodeId = 'id-of-node1'): Promise<void> {
  const channel = p.driver.channel();
  const request = { volume_id: handle, node_id: nodeId };
  if (what === 'Unpublish') {
    await channel.call('/csi.v1.Controller/ControllerUnpublishVolume', request, { timeoutMs: 1_000 });
  } else {
    const volume_capability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const } };
    await channel.call(
      '/csi.v1.Controller/ControllerPublishVolume',
      { ...request, volume_capability },
      { timeoutMs: 1_000 },
    );
  }
  p.driver.forgetCalls();
}

describe('the comparison with the driver', () => {
  it('[attacher#116] given an attached volume that the driver does not list, when it is compared, then it is published once, and not again', async () => {
    const p = await comparing([isAttached, aVolume(), aCsiNode()]);
    expect([p.calls(), p.publishedOn()]).toEqual([[list, `${publish} OK`], ['id-of-node1']]);
    await p.clock.advance(120_000);
    expect(p.calls()).toEqual([list, `${publish} OK`, list, list]);
    expect(p.attachment()?.status?.attached).toBe(true);
    await p.stop();
  });

  it('[attacher#117] given an attached volume that the driver lists, when it is compared without its CSINode, then nothing is called or written', async () => {
    const p = await comparing([aVolume(), aCsiNode()]);
    await callDriverDirectly(p, 'Publish');
    p.server.objects.remove(csiNodes, { name: 'node1' });
    p.server.seed(isAttached);
    await p.clock.advance(120_000);
    expect([p.calls(), p.writes()]).toEqual([[list, list], []]);
    await p.stop();
  });

  it('[attacher#118] given a detached attachment that others hold, when the driver still lists its volume, then it is unpublished, and nothing is written', async () => {
    const p = await comparing([aVolume(), aCsiNode()]);
    await callDriverDirectly(p, 'Publish');
    p.server.seed(anAttachment({ deleting: 'yes', finalizers: ['foo/bar'] }));
    await p.clock.advance(60_000);
    await p.settle();
    expect([p.calls(), p.writes(), p.publishedOn()]).toEqual([[list, `${unpublish} OK`], [], []]);
    await p.clock.advance(120_000);
    expect(p.calls()).toEqual([list, `${unpublish} OK`, list, list]);
    await p.stop();
  });

  it('[attacher#120] given an attached volume that is published on another node only, when it is compared, then it is published on its own node as well', async () => {
    const p = await comparing([aVolume({ spec: { accessModes: ['ReadWriteMany'] } }), aCsiNode()]);
    await callDriverDirectly(p, 'Publish', 'id-of-node2');
    p.server.seed(isAttached);
    await p.clock.advance(60_000);
    await p.settle();
    expect([p.calls(), [...p.publishedOn()].sort()]).toEqual([
      [list, `${publish} OK`],
      ['id-of-node1', 'id-of-node2'],
    ]);
    await p.stop();
  });

  it('[attacher#129] given a forced run that fails, when its backoff is over, then it is retried before the next pass', async () => {
    const p = await comparing([aVolume(), aCsiNode()]);
    p.driver.faults.add({ method: 'ControllerPublishVolume', times: 2, action: { kind: 'fail', code: 'Internal' } });
    p.server.seed(isAttached);
    p.driver.forgetCalls();
    await p.clock.advance(60_000);
    await p.settle();
    expect([p.calls(), p.attachment()?.status]).toEqual([
      [list, `${publish} Internal`],
      { attached: true, attachError: expect.objectContaining({ errorCode: 13 }) },
    ]);
    await p.clock.advance(10_000);
    await p.settle();
    expect(p.calls()).toEqual([list, `${publish} Internal`, `${publish} Internal`, `${publish} OK`]);
    const { attached: isOn, attachError } = p.attachment()?.status ?? {};
    expect([isOn, attachError, p.publishedOn()]).toEqual([true, undefined, ['id-of-node1']]);
    await p.stop();
  });

  it('[attacher#130] given an attachment in a long backoff, when the driver lists its volume, then it is retried at once in every pass', async () => {
    const p = await comparing([aVolume(), aCsiNode()], {
      settings: { retryIntervalStartMs: 3_000_000, retryIntervalMaxMs: 3_000_000 },
    });
    p.driver.faults.add({
      method: 'ControllerPublishVolume',
      at: 'after',
      times: 2,
      action: { kind: 'fail', code: 'Internal' },
    });
    p.driver.forgetCalls();
    p.server.seed(anAttachment());
    await p.settle();
    expect([p.calls(), p.publishedOn()]).toEqual([[`${publish} Internal`], ['id-of-node1']]);
    await p.clock.advance(60_000);
    await p.settle();
    await p.clock.advance(60_000);
    await p.settle();
    expect(p.calls()).toEqual([`${publish} Internal`, list, `${publish} Internal`, list, `${publish} OK`]);
    expect([p.attachment()?.status?.attached, p.writes().at(-1)]).toEqual([true, saved]);
    await p.stop();
  });

  it('[attacher#R4] given a late write of the process before makes the status what the driver says, when the forced publish fails, then no error is written, and the driver is not called again', async () => {
    const p = await comparing([aVolume(), aCsiNode()], {
      settings: { retryIntervalStartMs: 100_000, retryIntervalMaxMs: 100_000 },
    });
    const method = 'ControllerPublishVolume';
    p.driver.faults.add({ method, at: 'after', action: { kind: 'fail', code: 'DeadlineExceeded' } });
    p.driver.faults.add({ method, at: 'before', skip: 1, action: { kind: 'delay', ms: 40_000 } });
    p.driver.forgetCalls();
    p.server.seed(anAttachment());
    await p.clock.advance(62_000);
    p.change('va1', (attachment) => ({ ...attachment, status: { attached: true } }));
    await p.clock.advance(300_000);
    expect(p.attachment()?.status).toEqual({ attached: true });
    const timedOut = `${publish} DeadlineExceeded`;
    expect(p.calls().filter((call) => call !== list)).toEqual([timedOut, timedOut]);
    await p.stop();
  });

  it('[attacher#R4] given a forced attachment that is published and deleted in one run, when the write of its detach gets no answer, then no error is written', async () => {
    const p = await comparing([aVolume(), aCsiNode()], {
      settings: { retryIntervalStartMs: 100_000, retryIntervalMaxMs: 100_000 },
    });
    const method = 'ControllerPublishVolume';
    p.driver.faults.add({ method, at: 'after', times: 1, action: { kind: 'fail', code: 'DeadlineExceeded' } });
    let writes = 0;
    const loseWriteOfDetach: FaultRule['when'] = ({ verb, subresource }) => {
      if (verb !== 'patch' || subresource !== 'status') return false;
      writes += 1;
      if (writes === 2) p.delete();
      return writes === 3;
    };
    p.faults.push({ when: loseWriteOfDetach, fault: { kind: 'break', point: 'after', failure: 'reset' } });
    p.server.seed(anAttachment({ finalizers: ['foo/bar'] }));
    await p.clock.advance(180_000);
    expect(p.attachment()?.status).toEqual({ attached: false });
    expect(p.publishedOn()).toEqual([]);
    expect(p.bodies().filter((body) => JSON.stringify(body).includes('"detachError":{'))).toEqual([]);
    await p.stop();
  });

  it('[attacher#R4] given a forced detach whose last write gets no answer, when it is looked at again, then the volume is not unpublished again, and no error is written', async () => {
    const p = await comparing([aVolume(), aCsiNode()]);
    await callDriverDirectly(p, 'Publish');
    const method = 'ControllerUnpublishVolume';
    p.driver.faults.add({ method, skip: 1, action: { kind: 'fail', code: 'Aborted' } });
    const when: FaultRule['when'] = ({ verb, subresource }) => verb === 'patch' && subresource === 'status';
    p.faults.push({ when, fault: { kind: 'break', point: 'after', failure: 'reset' } });
    const status = { attached: false, attachmentMetadata: { path: 'a' } };
    p.server.seed(anAttachment({ deleting: 'yes', finalizers: ['foo/bar'], status }));
    await p.clock.advance(180_000);
    expect(p.calls().filter((call) => call !== list)).toEqual([`${unpublish} OK`]);
    expect(p.attachment()?.status).toEqual({ attached: false });
    await p.stop();
  });

  it('[attacher#127] given a volume that is attached and later detached while the driver lists slowly, then each call is made once', async () => {
    const p = await comparing([aVolume(), aCsiNode()]);
    p.driver.faults.add({ method: 'ListVolumes', at: 'after', action: { kind: 'delay', ms: 5_000 } });
    p.driver.forgetCalls();
    await p.clock.advance(61_000);
    p.server.seed(anAttachment());
    await p.settle();
    expect(p.attachment()?.status?.attached).toBe(true);
    await p.clock.advance(66_000);
    p.delete();
    await p.clock.advance(120_000);
    expect(p.calls().filter((call) => call !== list)).toEqual([`${publish} OK`, `${unpublish} OK`]);
    expect([p.attachment(), p.publishedOn()]).toEqual([undefined, []]);
    await p.stop();
  });

  it('given a driver without LIST_VOLUMES_PUBLISHED_NODES, then ListVolumes is not called', async () => {
    const p = await anAttacher({
      controller: ['PUBLISH_UNPUBLISH_VOLUME', 'LIST_VOLUMES'],
      seed: [isAttached, aVolume()],
    });
    await p.clock.advance(120_000);
    expect(p.calls()).toEqual([]);
    await p.stop();
  });

  it('[attacher#R4] given a published volume without an attachment, and one on a node that is gone, when ten minutes are over, then metrics count them', async () => {
    const p = await comparing([aVolume(), aCsiNode()]);
    await callDriverDirectly(p, 'Publish');
    await callDriverDirectly(p, 'Publish', 'gone');
    const found = (group: string): number | undefined =>
      p.metrics.value('csi_sidecars_audit_findings', { kind: 'attachments', class: group });
    // The first count was made before.
    await p.clock.advance(11 * 60_000);
    expect([found('unconfirmed'), found('attachedUnrecorded')]).toEqual([2, undefined]);
    await p.clock.advance(5 * 60_000);
    expect(found('attachedUnrecorded')).toBe(undefined);
    await p.clock.advance(6 * 60_000);
    expect([found('unconfirmed'), found('attachedUnrecorded'), found('attachedToGoneNode')]).toEqual([0, 1, 1]);
    expect(p.calls().every((call) => call === list)).toBe(true);
    await p.stop();
  });
});
