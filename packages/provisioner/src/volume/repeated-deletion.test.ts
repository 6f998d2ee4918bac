// SPDX-License-Identifier: Apache-2.0
/** A deletion that is finished before the watch delivers it. */
import { type VolumeAttachment, volumeAttachments } from '@csi-sidecars/runtime';
import { expect, it } from 'vitest';
import { aVolume, driverName } from '../../testing/builders.ts';
import { aProvisioner } from '../../testing/provisioner-fixture.ts';
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
