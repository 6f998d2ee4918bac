// SPDX-License-Identifier: Apache-2.0
/** A deletion that is finished before the watch delivers it. */
import { persistentVolumes, type VolumeAttachment, volumeAttachments } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { describe, expect, it } from 'vitest';
import { aVolume, driverName } from '../../testing/builders.ts';
import { aProvisioner, type Fixture } from '../../testing/provisioner-fixture.ts';
import { volumeFinalizer } from '../names.ts';

const attachment: VolumeAttachment = {
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttachment',
  metadata: { name: 'va', uid: 'uid-of-va' },
  spec: { attacher: driverName, nodeName: 'n1', source: { persistentVolumeName: 'pvc-uid-data' } },
};

it('given a finished deletion, when the cache still shows the volume, then it is not deleted again, but one of a new UID is', async () => {
  const released = aVolume({ finalizers: [volumeFinalizer] });
  const p = await aProvisioner({ controller: ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'] });
  p.faults.push({
    when: ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumes',
    fault: { kind: 'lag', ms: 20_000 },
    times: 9,
  });
  // The answer to the removal of the finalizer has the version of the DELETE, and the watch delivers that version 10 s before the
  // end of the object. A change in between wakes the volume.
  p.faults.push({
    when: ({ verb, resource }) => verb === 'patch' && resource === 'persistentvolumes',
    fault: { kind: 'delay', ms: 10_000 },
  });
  p.server.endWatches('broken');
  await p.clock.advance(5_000);
  p.server.seed(released);
  await p.clock.advance(45_000);
  expect([p.calls().length, p.volume()]).toEqual([1, undefined]);
  p.server.seed(attachment);
  await p.settle();
  p.server.objects.remove(volumeAttachments, { name: 'va' });
  await p.settle();
  await p.clock.advance(60_000);
  expect(p.calls().length).toBe(1);
  p.server.seed({ ...released, metadata: { ...released.metadata, uid: 'another' } });
  await p.clock.advance(30_000);
  expect(p.calls().length).toBe(2);
});

it('[provisioner#227] given an API server that streams no lists, then the first lists are current', async () => {
  const cluster = (await aProvisioner()).crash();
  cluster.faults.push({
    when: ({ verb, request }) => verb === 'watch' && request.path.includes('sendInitialEvents'),
    fault: { kind: 'status', point: 'before', code: 422, reason: 'Invalid' },
    times: 99,
  });
  const before = cluster.server.requests.length;
  await aProvisioner({ cluster, seed: [] });
  const lists = cluster.server.requests.slice(before).filter(({ verb }) => verb === 'list');
  const isOld = ({ path }: { readonly path: string }): boolean => path.includes('resourceVersion=0');
  expect(Object.fromEntries(lists.map((list) => [list.resource, isOld(list)]))).toEqual({
    persistentvolumeclaims: false,
    persistentvolumes: false,
    storageclasses: false,
  });
});

describe('an object that is gone, or another one by now, while the watch is silent', () => {
  const name = 'pvc-uid-data';
  const call = `DeleteVolume handle-of-${name} OK`;
  const silent: FaultRule = {
    when: ({ verb, resource }) => verb === 'watch' && resource === 'persistentvolumes',
    fault: { kind: 'lag', ms: 600_000 },
    times: 9,
  };

  /** The provisioner has the volume in its cache, waits for the end of an attachment, and learns nothing more from the watch. */
  async function waiting(finalizers: readonly string[]): Promise<Fixture> {
    const p = await aProvisioner({
      controller: ['CREATE_DELETE_VOLUME', 'PUBLISH_UNPUBLISH_VOLUME'],
      seed: [aVolume({ finalizers: [...finalizers] }), attachment],
    });
    p.faults.push(silent);
    p.server.endWatches('broken');
    await p.clock.advance(30_000);
    expect([p.calls(), p.writes()]).toEqual([[], []]);
    return p;
  }
  const detach = async (p: Fixture): Promise<void> => {
    p.server.objects.remove(volumeAttachments, { name: 'va' });
    await p.settle();
  };

  it('[provisioner#225] given a DELETE without an answer, after which the object is gone, when it is retried, then the object is read, and the driver is not called again', async () => {
    const p = await waiting([volumeFinalizer]);
    p.faults.push({
      when: ({ verb }) => verb === 'delete',
      fault: { kind: 'break', point: 'after', failure: 'eof' },
    });
    await detach(p);
    p.server.objects.remove(persistentVolumes, { name });
    await p.clock.advance(120_000);
    expect([p.calls(), p.writes()]).toEqual([[call], [`delete persistentvolumes ${name} 200`]]);
    await p.stop();
  });

  it('[provisioner#225] given a DELETE that is refused because another object has the name, when it is retried, then that one is read, and the driver is not called again', async () => {
    const p = await waiting([volumeFinalizer]);
    p.server.objects.remove(persistentVolumes, { name });
    p.server.seed({ ...aVolume({ phase: 'Available' }), metadata: { name, uid: 'another' } });
    await detach(p);
    await p.clock.advance(120_000);
    expect([p.calls(), p.writes()]).toEqual([[call], [`delete persistentvolumes ${name} 409`]]);
    expect(p.volume()?.metadata).toMatchObject({ uid: 'another' });
    await p.stop();
  });

  it.each([[], [volumeFinalizer]])(
    '[provisioner#225] given an object with the finalizers %j that this process has deleted, when another attachment of it ends, then the driver is not called again',
    async (...finalizers) => {
      const p = await waiting(finalizers);
      await detach(p);
      const done = p.writes();
      expect([p.calls(), p.volume()]).toEqual([[call], undefined]);
      p.server.seed(attachment);
      await p.settle();
      await detach(p);
      await p.clock.advance(20_000);
      expect([p.calls(), p.writes()]).toEqual([[call], done]);
      await p.stop();
    },
  );
});
