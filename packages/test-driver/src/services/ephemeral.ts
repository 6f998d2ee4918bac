// SPDX-License-Identifier: Apache-2.0
/** Inline volumes: they live from NodePublishVolume to NodeUnpublishVolume, without controller, under the pod's id. */
import type { NodePublishVolumeRequest } from '@csi-sidecars/csi';
import type { Driver } from '../core/driver.ts';
import { place } from '../core/pools.ts';
import type { Access, StringMap, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { fill } from './create-volume.ts';

const ephemeralBytes = 100n * 1024n ** 2n;

export function isEphemeral(volumeContext: StringMap): boolean {
  return volumeContext['csi.storage.k8s.io/ephemeral'] === 'true';
}

export async function makeEphemeral(
  driver: Driver,
  request: NodePublishVolumeRequest,
  access: Access,
): Promise<VolumeRecord> {
  const { settings, store, backend } = driver;
  const existing = store.volumes.get(request.volume_id);
  if (existing?.lifecycle === 'persistent') {
    refuse('AlreadyExists', `volume ${request.volume_id} exists and is not ephemeral`);
  }
  if (existing?.phase === 'ready') return existing;
  if (access.type === 'block') refuse('InvalidArgument', 'an ephemeral volume has no block access');
  const kind = request.volume_context['kind'];
  const volume: VolumeRecord = {
    id: request.volume_id,
    name: `ephemeral ${request.volume_id}`,
    order: store.nextOrder(),
    phase: 'creating',
    lifecycle: 'ephemeral',
    layout: 'directory',
    capacityBytes: ephemeralBytes,
    created: { accesses: [access], parameters: {}, mutableParameters: {}, source: { kind: 'empty' } },
    mutableParameters: {},
    ...place(settings, store.volumes.all(), { bytes: ephemeralBytes, kind, domains: [] }),
    attachments: [],
    stagings: [],
    publications: [],
    health: undefined,
  };
  return await fill(driver, volume, () => backend.createVolume(volume, { kind: 'empty' }));
}
