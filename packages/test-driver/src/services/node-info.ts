// SPDX-License-Identifier: Apache-2.0
/** What a node reports about itself and the volumes on it. */
import { refuse } from '../core/refusal.ts';
import { knownNode } from '../core/settings.ts';
import { hasTopology } from '../core/topology.ts';
import type { Handler } from './handler.ts';
import { requireVolume } from './lookup.ts';

export const nodeGetInfo: Handler<'/csi.v1.Node/NodeGetInfo'> = ({ settings }, _request, call) => {
  const node = knownNode(settings, call.nodeId) ?? refuse('Internal', `node ${call.nodeId} is not configured`);
  const segments = hasTopology(settings) ? node.segments : {};
  return {
    node_id: node.id,
    max_volumes_per_node: node.maxVolumes.toString(),
    accessible_topology: Object.keys(segments).length > 0 ? { segments } : undefined,
  };
};

export const nodeGetVolumeStats: Handler<'/csi.v1.Node/NodeGetVolumeStats'> = async (driver, request, call) => {
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (request.volume_path === '') refuse('InvalidArgument', 'volume_path is missing');
  const { backend } = driver;
  const volume = requireVolume(driver, request.volume_id);
  const here = [...volume.stagings, ...volume.publications].some(
    ({ nodeId, path }) => nodeId === call.nodeId && path === request.volume_path,
  );
  if (!here) refuse('NotFound', `volume ${volume.id} is not at ${request.volume_path}`);
  const usage = await backend.usage(volume, request.volume_path);
  return {
    usage: usage.map(({ unit, total, available, used }) => ({
      unit,
      total: total.toString(),
      available: available?.toString(),
      used: used?.toString(),
    })),
  };
};
