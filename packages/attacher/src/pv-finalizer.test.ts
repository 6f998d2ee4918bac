// SPDX-License-Identifier: Apache-2.0
/** The running loop: which changes in the watches lead to which requests. */
import {
  ApiError,
  type KubeObject,
  type PersistentVolume,
  persistentVolumes,
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { walkFlow } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { anAttacher, type Fixture, forbidden } from '../testing/attacher-fixture.ts';
import { anAttachment, attached, aVolume, driverName, finalizer } from '../testing/builders.ts';
import { annotations } from './names.ts';
import { release, removeOurFinalizer } from './pv-finalizer.ts';

const released = 'patch persistentvolumes pv1 200';
const deleting = aVolume({ deleting: 'yes' });
const gce = aVolume({ spec: { gcePersistentDisk: { pdName: 'disk' } } });
const { csi: _csi, ...gceSpec } = gce.spec ?? {};
const inTree = (metadata: PersistentVolume['metadata'] = {}): PersistentVolume => ({
  ...gce,
  metadata: { ...gce.metadata, ...metadata },
  spec: gceSpec,
});
const attachedVolume = anAttachment(attached);

async function attacherWith(...seed: readonly KubeObject[]): Promise<Fixture> {
  const fixture = await anAttacher({ seed });
  fixture.server.clearRequests();
  return fixture;
}
async function deleteAttachment(p: Fixture, name = 'va1'): Promise<void> {
  p.server.objects.remove(volumeAttachments, { name });
  await p.settle();
}
async function changeVolume(p: Fixture, metadata: PersistentVolume['metadata']): Promise<void> {
  p.server.objects.change(persistentVolumes, { name: 'pv1' }, (volume) => ({
    ...volume,
    metadata: { ...volume.metadata, ...metadata },
  }));
  await p.settle();
}
const removedMessage = 'Removed finalizer from PersistentVolume';
const failuresIn = (p: Fixture): unknown[] =>
  p.logger.lines.flatMap((line) =>
    line.kind === 'error' && line.message.startsWith('Reconcile ') ? [(line.error as Error).message] : [],
  );
const addsIn = (p: Fixture): number => p.metrics.value('workqueue_adds_total', { name: 'csi-attacher-pv' }) ?? 0;
const deletionTimestamp = '2026-01-01T00:00:00Z';

describe('the finalizer of a PersistentVolume', () => {
  it('[attacher#97] given the last attachment of a volume being deleted, when it is gone, then one request releases the volume, and the volume is gone', async () => {
    const p = await attacherWith(deleting, attachedVolume);
    expect(p.writes()).toEqual([]);
    await deleteAttachment(p);
    expect([p.writes(), p.volume()]).toEqual([[released], undefined]);
    await p.clock.advance(600_000);
    expect(p.writes()).toEqual([released]);
    expect(p.logger.lines.filter(({ message }) => message === removedMessage)).toEqual([
      { kind: 'info', level: 2, message: removedMessage, facts: { PersistentVolume: 'pv1' } },
    ]);
    expect(failuresIn(p)).toEqual([]);
    await p.stop();
  });

  it('[attacher#98] given the last attachment of an in-tree volume being deleted, when it is gone, then one request releases the volume', async () => {
    const p = await attacherWith(
      inTree({ deletionTimestamp, annotations: { [annotations.migratedTo]: 'test.csi.example.com' } }),
      attachedVolume,
    );
    await deleteAttachment(p);
    expect([p.writes(), p.volume()]).toEqual([[released], undefined]);
    await p.stop();
  });

  it('[attacher#99, 112] given a volume being deleted without our finalizer, when its attachment is gone, then nothing is written', async () => {
    const p = await attacherWith(aVolume({ deleting: 'yes', finalizers: ['foo/bar'] }), attachedVolume);
    await deleteAttachment(p);
    expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[], ['foo/bar']]);
    await p.stop();
  });

  it('[attacher#100, F3, F4] given a volume that is not attached, when it is deleted, then our finalizer is removed', async () => {
    const p = await attacherWith(aVolume({ finalizers: [finalizer, 'foo/bar'] }));
    await changeVolume(p, { deletionTimestamp });
    expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[released], ['foo/bar']]);
    await p.stop();
  });

  it.each([
    { id: '[attacher#109]', at: 'alone', finalizers: [finalizer], left: undefined },
    { id: '[attacher#101]', at: 'first', finalizers: [finalizer, 'foo/bar', 'bar/baz'], left: ['foo/bar', 'bar/baz'] },
    { id: '[attacher#109]', at: 'second', finalizers: ['foo/bar', finalizer, 'bar/baz'], left: ['foo/bar', 'bar/baz'] },
    { id: '[attacher#109]', at: 'last', finalizers: ['foo/bar', 'bar/baz', finalizer], left: ['foo/bar', 'bar/baz'] },
    { id: '[attacher#109]', at: 'present twice', finalizers: [finalizer, 'foo/bar', finalizer], left: ['foo/bar'] },
  ])(
    '$id given our finalizer is $at in the list, when the volume is released, then the others keep their order',
    async ({ finalizers, left }) => {
      const p = await attacherWith(aVolume({ deleting: 'yes', finalizers }), attachedVolume);
      await deleteAttachment(p);
      expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[released], left]);
      await p.stop();
    },
  );

  it('[attacher#102] given a request that the server refuses twice, when the backoff is over, then it is retried until the volume is released', async () => {
    const p = await attacherWith(deleting, attachedVolume);
    p.faults.push({
      when: ({ verb }) => verb === 'patch',
      times: 2,
      fault: { kind: 'status', point: 'before', code: 403, reason: 'Forbidden' },
    });
    await deleteAttachment(p);
    await p.clock.advance(999);
    expect([p.writes(), p.volume()]).toEqual([[], expect.anything()]);
    await p.clock.advance(101);
    expect(p.writes()).toEqual([]);
    await p.clock.advance(2_200);
    expect([p.writes(), p.volume()]).toEqual([[released], undefined]);
    const failure = 'could not remove the finalizer from PersistentVolume pv1: injected fault';
    expect(failuresIn(p)).toEqual([failure, failure]);
    await p.stop();
  });

  it('[attacher#103, 112, F1] given a volume that is not being deleted, when its attachment is gone, then our finalizer stays', async () => {
    const p = await attacherWith(aVolume(), attachedVolume);
    await deleteAttachment(p);
    expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[], [finalizer]]);
    await p.stop();
  });

  it('[attacher#104] given a volume being deleted with two attachments, when one is gone, then nothing is written; when both are gone, then the volume is released', async () => {
    const p = await attacherWith(deleting, attachedVolume, anAttachment({ ...attached, name: 'va2', node: 'node2' }));
    await deleteAttachment(p, 'va2');
    expect(p.writes()).toEqual([]);
    await deleteAttachment(p);
    expect(p.writes()).toEqual([released]);
    await p.stop();
  });

  it('[attacher#105] given a volume of another driver, when it is deleted, then nothing is written', async () => {
    const p = await attacherWith(aVolume({ csi: { driver: 'other' }, finalizers: ['external-attacher/other'] }));
    await changeVolume(p, { deletionTimestamp });
    expect(p.writes()).toEqual([]);
    await p.stop();
  });

  it('[attacher#106,107] given an attachment of another driver, when the volume is deleted, then nothing is written; when the attachment is gone, then the volume is released', async () => {
    const p = await attacherWith(deleting, anAttachment({ attacher: 'other' }));
    await changeVolume(p, { labels: { some: 'thing' } });
    expect(p.writes()).toEqual([]);
    await deleteAttachment(p);
    expect([p.writes(), p.volume()]).toEqual([[released], undefined]);
    await p.stop();
  });

  it('[attacher#108] given a volume that is gone, when its attachment is gone too, then nothing is written and no error is logged', async () => {
    const p = await attacherWith(attachedVolume);
    await deleteAttachment(p);
    expect([p.writes(), p.logger.lines.filter(({ kind }) => kind === 'error')]).toEqual([[], []]);
    await p.stop();
  });

  it('[attacher#111] given others change the finalizers at the same moment, when the volume is released, then one request is sent, and their changes stay', async () => {
    const p = await attacherWith(aVolume({ deleting: 'yes', finalizers: ['foo/bar', finalizer] }), attachedVolume);
    p.faults.push({ when: ({ verb }) => verb === 'patch', fault: { kind: 'delay', ms: 100 } });
    await deleteAttachment(p);
    p.server.objects.change(persistentVolumes, { name: 'pv1' }, (volume) => ({
      ...volume,
      metadata: { ...volume.metadata, finalizers: [finalizer, 'bar/baz'] },
    }));
    await p.clock.advance(100);
    expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[released], ['bar/baz']]);
    await p.clock.advance(600_000);
    expect(p.writes()).toEqual([released]);
    await p.stop();
  });

  it('given a volume that is gone when the request arrives, when the server answers 404, then no failure is logged, and nothing is sent again', async () => {
    const p = await attacherWith(deleting, attachedVolume);
    p.faults.push({ when: ({ verb }) => verb === 'patch', fault: { kind: 'delay', ms: 100 } });
    await deleteAttachment(p);
    p.server.objects.remove(persistentVolumes, { name: 'pv1' });
    await p.clock.advance(600_000);
    expect(p.writes()).toEqual(['patch persistentvolumes pv1 404']);
    expect(failuresIn(p)).toEqual([]);
    expect(p.logger.messages()).not.toContain(removedMessage);
    await p.stop();
  });

  it('given another volume of the same name was created meanwhile, when the request arrives, then the new volume keeps its finalizer', async () => {
    const p = await attacherWith(deleting, attachedVolume);
    p.faults.push({ when: ({ verb }) => verb === 'patch', fault: { kind: 'delay', ms: 100 } });
    await deleteAttachment(p);
    p.server.objects.remove(persistentVolumes, { name: 'pv1' });
    p.server.seed({ ...aVolume(), metadata: { name: 'pv1', uid: 'another', finalizers: [finalizer] } });
    await p.clock.advance(60_000);
    expect(p.volume()?.metadata).toMatchObject({ uid: 'another', finalizers: [finalizer] });
    await p.stop();
  });

  it('given a watch that lags, when it reports the volume after its last finalizer was removed, then nothing is sent again', async () => {
    const lagging = ({ verb, resource }: { verb: string; resource: string }): boolean =>
      verb === 'watch' && resource === 'persistentvolumes';
    const p = await anAttacher({
      seed: [aVolume()],
      faults: [{ when: lagging, times: Infinity, fault: { kind: 'lag', ms: 1_000 } }],
    });
    await p.clock.advance(5_000);
    await changeVolume(p, { deletionTimestamp });
    await p.clock.advance(500);
    await changeVolume(p, { labels: { some: 'thing' } });
    await p.clock.advance(500);
    await p.settle();
    expect([p.writes(), p.volume()]).toEqual([[released], undefined]);
    await p.clock.advance(60_000);
    expect(p.writes()).toEqual([released]);
    await p.stop();
  });

  it('given an answer of 404 for a volume that is there, then it is released with the backoff', async () => {
    const fault = { kind: 'status', point: 'before', code: 404, reason: 'NotFound' } as const;
    const p = await anAttacher({ seed: [deleting], faults: [{ when: ({ verb }) => verb === 'patch', fault }] });
    expect(p.writes()).toEqual([]);
    await p.clock.advance(1_150);
    expect([p.writes(), p.volume()]).toEqual([[released], undefined]);
    await p.stop();
  });

  it('[attacher#113] given an in-tree volume, when it is migrated to another driver, then it is released', async () => {
    const ours = { [annotations.migratedTo]: 'test.csi.example.com' };
    const p = await attacherWith(inTree({ annotations: ours }));
    await changeVolume(p, { annotations: { [annotations.migratedTo]: 'other' } });
    expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[released], undefined]);
    await p.stop();
  });

  it('[attacher#114] given a rollback of the migration and an attachment that is left, when the attachment is gone, then our finalizer is removed', async () => {
    const p = await attacherWith(inTree({ annotations: {} }), attachedVolume);
    expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[], [finalizer]]);
    await deleteAttachment(p);
    expect([p.writes(), p.volume()?.metadata?.finalizers]).toEqual([[released], undefined]);
    await p.stop();
  });

  it('[attacher#115] given volumes that are already being deleted, when the process starts, then they are released', async () => {
    const p = await anAttacher({
      seed: [deleting, aVolume({ name: 'pv2', deleting: 'yes' }), aVolume({ name: 'pv3' })],
    });
    expect([...p.writes()].sort()).toEqual([released, 'patch persistentvolumes pv2 200']);
    await p.stop();
  });

  it('given VolumeAttachments that are not listed yet, when a volume is being deleted, then nothing is written before the list shows its attachment', async () => {
    const p = await anAttacher({
      seed: [deleting, attachedVolume],
      faults: [{ when: ({ resource }) => resource === 'volumeattachments', fault: { kind: 'delay', ms: 5_000 } }],
    });
    expect(p.writes()).toEqual([]);
    await p.clock.advance(5_000);
    await p.settle();
    expect(p.writes()).toEqual([]);
    await p.stop();
  });

  it('given changes that cannot release a volume, then nothing is added to the queue', async () => {
    const inline = { inlineVolumeSpec: { csi: { driver: 'other', volumeHandle: 'x' } } };
    const p = await attacherWith(aVolume(), attachedVolume);
    await changeVolume(p, { labels: { some: 'thing' } });
    p.change('va1', (attachment) => ({ ...attachment, metadata: { ...attachment.metadata, labels: { a: 'b' } } }));
    await p.settle();
    p.server.seed(anAttachment({ ...attached, name: 'va2', source: inline }));
    await deleteAttachment(p, 'va2');
    p.server.objects.remove(persistentVolumes, { name: 'pv1' });
    await p.settle();
    expect([addsIn(p), p.logger.lines.filter(({ kind }) => kind === 'error')]).toEqual([0, []]);
    p.server.seed(deleting);
    await p.settle();
    expect(addsIn(p)).toBe(1);
    await p.stop();
  });

  it('given a release that failed many times, when the volume is removed and one of the same name is created, then its first retry comes after the first delay', async () => {
    const faults = [{ when: ({ verb }: { verb: string }) => verb === 'patch', times: 8, fault: forbidden }];
    const p = await anAttacher({ seed: [deleting], faults });
    await p.clock.advance(100_000);
    p.server.objects.remove(persistentVolumes, { name: 'pv1' });
    await p.settle();
    // The first attempt for the new object is the eighth request that is refused.
    p.server.seed(aVolume({ deleting: 'yes' }));
    await p.settle();
    expect(p.writes()).toEqual([]);
    await p.clock.advance(1_150);
    expect(p.writes()).toEqual([released]);
    await p.stop();
  });

  it('given a driver that cannot attach, when a volume is being deleted, then its finalizer is not removed', async () => {
    const p = await anAttacher({ controller: [], seed: [deleting] });
    expect(p.writes()).toEqual([]);
    await p.stop();
  });
});

it('given an answer of 404 for a volume that is there, then both requests carry the signal of the run, and the error keeps the answer', async () => {
  const { signal } = new AbortController();
  const signals: unknown[] = [];
  const notFound = new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
  type Options = { readonly signal?: AbortSignal };
  const patch = async (_target: object, _patch: object, options: Options) => {
    signals.push(options.signal);
    throw notFound;
  };
  const list = async (_resource: object, _query: object, options: Options) => {
    signals.push(options.signal);
    return { items: [deleting] };
  };
  const caches = { volumes: { doubt: () => undefined } };
  const run = { client: { patch, list }, caches, key: 'pv1', signal, context: { driverName } } as never;
  const error: unknown = await removeOurFinalizer(run, deleting).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ cause: notFound });
  expect(signals).toEqual([signal, signal]);
});

it('[attacher#F1, F2, F3] given a PersistentVolume, then its run goes through the rows of the page', async () => {
  const seen = { volume: deleting, isAttached: false, leftMs: 0 };
  const refusal = new Error('no');
  const removing = { removeOurFinalizer: undefined };
  expect(await walkFlow(release({ ...seen, volume: undefined }, driverName), {})).toMatchObject({
    conclusion: { row: 'F1' },
  });
  expect(await walkFlow(release({ ...seen, isAttached: true }, driverName), {})).toMatchObject({
    conclusion: { row: 'F2' },
  });
  expect(await walkFlow(release({ ...seen, leftMs: 7 }, driverName), {})).toMatchObject({
    conclusion: { row: 'F5', outcome: { kind: 'requeueAfter', afterMs: 7 } },
  });
  expect(await walkFlow(release(seen, driverName), removing)).toMatchObject({
    steps: ['F3 removeOurFinalizer'],
    conclusion: { row: 'F4', outcome: { kind: 'done' } },
  });
  expect(await walkFlow(release(seen, driverName), { removeOurFinalizer: refusal })).toMatchObject({
    conclusion: { row: 'F4', outcome: { cause: refusal } },
  });
});
