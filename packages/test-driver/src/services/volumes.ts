// SPDX-License-Identifier: Apache-2.0
/** Queries about volumes and space. They take no locks. */
import { parseAccesses } from '../core/access.ts';
import { pageOf } from '../core/paging.ts';
import { freeBytes, poolsFor } from '../core/pools.ts';
import { refuse } from '../core/refusal.ts';
import { sameMap } from '../core/string-map.ts';
import { domainsOf, hasTopology, matches } from '../core/topology.ts';
import { statusMessage, volumeMessage } from './answers.ts';
import type { Handler } from './handler.ts';
import { requireVolume } from './lookup.ts';

export const validateVolumeCapabilities: Handler<'/csi.v1.Controller/ValidateVolumeCapabilities'> = (
  driver,
  request,
) => {
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  const accesses = parseAccesses(driver.settings, request.volume_capabilities);
  const volume = requireVolume(driver, request.volume_id);
  const type = volume.layout === 'block' ? 'block' : 'mount';
  const wrong = accesses.find((access) => access.type !== type);
  if (wrong !== undefined) return { message: `the volume has access type ${type}, not ${wrong.type}` };
  if (Object.keys(request.parameters).length > 0 && !sameMap(request.parameters, volume.created.parameters)) {
    return { message: 'the volume was created with other parameters' };
  }
  return {
    confirmed: {
      volume_context: request.volume_context,
      volume_capabilities: request.volume_capabilities,
      parameters: request.parameters,
      mutable_parameters: request.mutable_parameters,
    },
  };
};

export const listVolumes: Handler<'/csi.v1.Controller/ListVolumes'> = (driver, request) => {
  const page = pageOf(driver.store.volumes.allReady(), request);
  const entries = page.records.map((volume) => ({
    volume: volumeMessage(volume),
    status: statusMessage(driver, volume),
  }));
  return { entries, next_token: page.nextToken };
};

export const controllerGetVolume: Handler<'/csi.v1.Controller/ControllerGetVolume'> = (driver, request) => {
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  const volume = requireVolume(driver, request.volume_id);
  return { volume: volumeMessage(volume), status: statusMessage(driver, volume) };
};

/** The largest pool limits the size of one volume; the sum of all pools is the available space. */
export const getCapacity: Handler<'/csi.v1.Controller/GetCapacity'> = ({ settings, store }, request) => {
  if (request.volume_capabilities.length > 0) parseAccesses(settings, request.volume_capabilities);
  const term = request.accessible_topology?.segments;
  if (term !== undefined && !hasTopology(settings)) {
    refuse('InvalidArgument', 'accessible_topology without the capability VOLUME_ACCESSIBILITY_CONSTRAINTS');
  }
  const domains = domainsOf(settings);
  const inside = term === undefined ? domains : domains.filter((domain) => matches(term, domain));
  if (domains.length > 0 && inside.length === 0) return answer(0n, 0n);
  const { maxVolumeBytes } = settings;
  if (settings.pools.length === 0) return answer(maxVolumeBytes, maxVolumeBytes);
  const kind = request.parameters['kind'];
  const reachable = (inside.length === 0 ? [undefined] : inside).flatMap((domain) =>
    poolsFor(settings, { kind, domain }),
  );
  const free = [...new Set(reachable)].map((pool) => freeBytes(pool, store.volumes.all()));
  const available = free.reduce((sum, bytes) => sum + bytes, 0n);
  const largest = free.reduce((most, bytes) => (bytes > most ? bytes : most), 0n);
  return answer(available, largest < maxVolumeBytes ? largest : maxVolumeBytes);
};

function answer(
  available: bigint,
  largestVolume: bigint,
): {
  readonly available_capacity: string;
  readonly maximum_volume_size: { readonly value: string };
  readonly minimum_volume_size: { readonly value: string };
} {
  return {
    available_capacity: available.toString(),
    maximum_volume_size: { value: largestVolume.toString() },
    minimum_volume_size: { value: '0' },
  };
}
