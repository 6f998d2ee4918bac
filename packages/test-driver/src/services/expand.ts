// SPDX-License-Identifier: Apache-2.0
/**
 * Growing a volume: the controller enlarges the data, the node enlarges the device and the file system. Both calls
 * are repeated after lost answers, so the answer "already large enough" still requires the expansion on the node.
 */
import { parseAccess } from '../core/access.ts';
import { exclusively, type Driver } from '../core/driver.ts';
import { freeBytes, poolKey } from '../core/pools.ts';
import type { VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { chooseSize, fits, parseRange, type Range } from '../core/sizes.ts';
import type { Handler } from './handler.ts';
import { requireVolume, volumeKey } from './lookup.ts';

export const controllerExpandVolume: Handler<'/csi.v1.Controller/ControllerExpandVolume'> = async (
  driver,
  request,
  call,
) => {
  const { settings, store, backend } = driver;
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (request.capacity_range === null) refuse('InvalidArgument', 'capacity_range is missing');
  const range = parseRange(request.capacity_range);
  if (range.requiredBytes === 0n && range.limitBytes === 0n) refuse('InvalidArgument', 'capacity_range is empty');
  if (request.volume_capability !== null) parseAccess(settings, request.volume_capability);
  const claim = { exclusive: [volumeKey(request.volume_id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = requireVolume(driver, request.volume_id);
    const target = targetSize(driver, volume, range);
    if (target > volume.capacityBytes) {
      requireExpandable(driver, volume, target);
      const larger: VolumeRecord = { ...volume, capacityBytes: target };
      await backend.expandVolume(larger);
      await store.volumes.put(larger);
    }
    return {
      capacity_bytes: target.toString(),
      node_expansion_required: settings.capabilities.node.includes('EXPAND_VOLUME'),
    };
  });
};

function targetSize({ settings }: Driver, volume: VolumeRecord, range: Range): bigint {
  if (fits(range, volume.capacityBytes)) return volume.capacityBytes;
  if (volume.capacityBytes > range.requiredBytes) {
    refuse('OutOfRange', `volume ${volume.id} has ${volume.capacityBytes} bytes and does not shrink`);
  }
  return chooseSize(settings, { range, layout: volume.layout, atLeastBytes: volume.capacityBytes });
}

function requireExpandable({ settings, store }: Driver, volume: VolumeRecord, target: bigint): void {
  const inUse = volume.attachments.length + volume.stagings.length + volume.publications.length > 0;
  if (inUse && !settings.capabilities.expansion.includes('ONLINE')) {
    refuse('FailedPrecondition', `volume ${volume.id} is in use and grows only while it is not`);
  }
  const pool = settings.pools.find((candidate) => poolKey(candidate) === volume.pool);
  if (pool !== undefined && freeBytes(pool, store.volumes.all()) < target - volume.capacityBytes) {
    refuse('ResourceExhausted', `the storage of volume ${volume.id} has no room for ${target} bytes`);
  }
}

export const nodeExpandVolume: Handler<'/csi.v1.Node/NodeExpandVolume'> = async (driver, request, call) => {
  const { settings, backend } = driver;
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (request.volume_path === '') refuse('InvalidArgument', 'volume_path is missing');
  const range = parseRange(request.capacity_range);
  if (request.volume_capability !== null) parseAccess(settings, request.volume_capability);
  const claim = { exclusive: [volumeKey(request.volume_id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = requireVolume(driver, request.volume_id);
    const paths = [...volume.stagings, ...volume.publications]
      .filter(({ nodeId }) => nodeId === call.nodeId)
      .map(({ path }) => path);
    if (!paths.includes(request.volume_path)) {
      refuse('NotFound', `volume ${volume.id} is not at ${request.volume_path}`);
    }
    if (!fits(range, volume.capacityBytes)) {
      refuse('OutOfRange', `volume ${volume.id} has ${volume.capacityBytes} bytes`);
    }
    await backend.growFileSystem(volume, request.volume_path);
    return { capacity_bytes: volume.capacityBytes.toString() };
  });
};
