// SPDX-License-Identifier: Apache-2.0
/** Which work gets a free worker first, and which metrics show the backlog. */
import { volumeAttachments } from '@csi-sidecars/runtime';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture, type FixtureOptions } from '../../testing/attacher-fixture.ts';
import { aCsiNode, anAttachment, attached, aVolume, finalizer } from '../../testing/builders.ts';

/** An attachment with a volume of its own, on `node1`. */
const attachment = (n: number, facts: Parameters<typeof anAttachment>[0] = {}) =>
  anAttachment({ name: `va${n}`, source: { persistentVolumeName: `pv${n}` }, ...facts });

async function withoutWork(settings: FixtureOptions['settings']): Promise<Fixture> {
  const volumes = [1, 2, 3].map((n) => aVolume({ name: `pv${n}` }));
  return await anAttacher({ settings: settings ?? {}, seed: [...volumes, aCsiNode()] });
}

const attach = (n: number) => `ControllerPublishVolume volume-${n} id-of-node1`;
const detach = (n: number) => `ControllerUnpublishVolume volume-${n} id-of-node1`;
/** Two attachments that are being deleted, in the order of their volumes. */
const leaving = [1, 2].map((n) => attachment(n, { ...attached, deleting: 'yes' }));

describe('one worker', () => {
  it('[attacher#150] given one worker and a call that hangs, then nothing else is called until it times out, and then one call after the other', async () => {
    const a = await withoutWork({ workerThreads: 1, timeoutMs: 15_000 });
    a.driver.faults.add({ method: 'ControllerPublishVolume', volume: 'volume-1', times: 1, action: { kind: 'hang' } });
    a.driver.faults.add({ method: 'ControllerPublishVolume', volume: 'volume-2', action: { kind: 'delay', ms: 400 } });
    for (const object of [attachment(1), attachment(2), attachment(3)]) a.server.seed(object);
    await a.clock.advance(14_999);
    expect(a.calls()).toEqual([`${attach(1)} no answer`]);
    await a.clock.advance(1);
    await a.clock.advance(399);
    expect(a.calls().slice(1)).toEqual([`${attach(2)} no answer`]);
    await a.clock.advance(1);
    await a.settle();
    expect(a.calls().slice(1)).toEqual([`${attach(2)} OK`, `${attach(3)} OK`]);
  });

  it('given detachments that wait, when an attachment is created, then it is next, and the detachments follow', async () => {
    const a = await withoutWork({ workerThreads: 1 });
    a.driver.faults.add({ method: 'ControllerUnpublishVolume', action: { kind: 'delay', ms: 2_000 } });
    for (const object of leaving) a.server.seed(object);
    await a.settle();
    a.server.seed(attachment(3));
    await a.clock.advance(4_000);
    await a.settle();
    expect(a.calls()).toEqual([`${detach(1)} OK`, `${attach(3)} OK`, `${detach(2)} OK`]);
  });

  it('given an attachment that is deleted while it waits, then other attachments go before it', async () => {
    const a = await withoutWork({ workerThreads: 1 });
    a.driver.faults.add({ method: 'ControllerUnpublishVolume', action: { kind: 'delay', ms: 2_000 } });
    a.server.seed(leaving[0]!);
    await a.settle();
    a.server.seed(attachment(2, { finalizers: [finalizer] }));
    a.server.seed(attachment(3));
    await a.settle();
    a.delete('va2');
    await a.clock.advance(4_000);
    await a.settle();
    expect(a.calls()).toEqual([`${detach(1)} OK`, `${attach(3)} OK`, `${detach(2)} OK`]);
  });
});

it('given an attachment that was removed by force during its publish, when the unpublish of its volume is repeated, then it waits behind other attachments, and no defect is logged', async () => {
  const a = await withoutWork({ workerThreads: 1 });
  const delay = { kind: 'delay', ms: 2_000 } as const;
  a.driver.faults.add({ method: 'ControllerPublishVolume', volume: 'volume-1', action: delay });
  a.driver.faults.add({ method: 'ControllerUnpublishVolume', times: 1, action: { kind: 'fail', code: 'Internal' } });
  a.server.seed(attachment(1));
  await a.settle();
  a.server.objects.remove(volumeAttachments, { name: 'va1' });
  a.server.seed(attachment(2));
  await a.clock.advance(2_000);
  await a.settle();
  const failed = 'ControllerUnpublishVolume volume-1 id-of-node1 Internal';
  expect(a.calls()).toEqual([`${attach(1)} OK`, failed, `${attach(2)} OK`, `${detach(1)} OK`]);
  const defects = a.logger.lines.filter(({ kind, message }) => kind === 'error' && !message.startsWith('Reconcile '));
  expect(defects).toEqual([]);
  await a.stop();
});

it('given attachments for two nodes that wait, then the nodes take turns', async () => {
  const volumes = [1, 2, 3].map((n) => aVolume({ name: `pv${n}` }));
  const a = await anAttacher({ settings: { workerThreads: 1 }, seed: [...volumes, aCsiNode(), aCsiNode('node2')] });
  a.driver.faults.add({ method: 'ControllerPublishVolume', action: { kind: 'delay', ms: 1_000 } });
  for (const n of [1, 2, 3]) a.server.seed(attachment(n));
  a.server.seed(attachment(1, { name: 'va4', node: 'node2' }));
  await a.clock.advance(3_500);
  expect(a.requests('ControllerPublishVolume').map((request) => [request['volume_id'], request['node_id']])).toEqual([
    ['volume-1', 'id-of-node1'],
    ['volume-2', 'id-of-node1'],
    ['volume-1', 'id-of-node2'],
    ['volume-3', 'id-of-node1'],
  ]);
});

it('given work in both lanes, then the metrics show how much waits, how much is in flight and how long the oldest waits', async () => {
  const a = await withoutWork({ workerThreads: 1 });
  a.driver.faults.add({ method: 'ControllerUnpublishVolume', action: { kind: 'delay', ms: 5_000 } });
  for (const object of leaving) a.server.seed(object);
  await a.settle();
  await a.clock.advance(1_000);
  a.server.seed(attachment(3));
  await a.clock.advance(2_000);
  const shown = (lane: string) =>
    ['waiting', 'in_flight', 'oldest_waiting_seconds'].map((family) =>
      a.metrics.value(`csi_sidecars_workqueue_lane_${family}`, { name: 'csi-attacher-va', lane }),
    );
  expect({ attach: shown('attach'), detach: shown('detach') }).toEqual({ attach: [1, 0, 2], detach: [1, 1, 3] });
  expect(a.metrics.value('workqueue_depth', { name: 'csi-attacher-va' })).toBe(2);
});
