// SPDX-License-Identifier: Apache-2.0
/**
 * What one place attaches: nodes that only the API knows, volumes in the driver and in the API, and attachments that the
 * bench writes itself, as nobody else here has pods to run.
 */
import { connectCsi } from '@csi-sidecars/csi';
import { anAttachment, aVolume } from '@csi-sidecars/e2e';
import { csiNodes, persistentVolumes, silentLogger, volumeAttachments } from '@csi-sidecars/runtime';
import { inParallel } from '../side-by-side/in-parallel.ts';
import type { Place } from '../side-by-side/place.ts';

/** As many as the driver is told of. */
export const nodeIds: readonly string[] = ['1', '2', '3', '4', '5'].map((n) => `storage-node-${n}`);

const concurrency = 32;
const callMs = 30_000;

/** Cluster-wide names, and the same for a volume and its attachment. */
export const namesOf = ({ namespace }: Place, what: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${namespace}-${what}-${n}`);

const nodeName = ({ namespace }: Place, id: string): string => `${namespace}-${id}`;

export async function registerNodes(place: Place): Promise<void> {
  const { stand, driver } = place;
  for (const id of nodeIds) {
    await stand.api.create(csiNodes, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: nodeName(place, id) },
      spec: { drivers: [{ name: driver.name, nodeID: id, topologyKeys: [] }] },
    });
  }
}

export async function createVolumes({ stand, driver }: Place, names: readonly string[]): Promise<void> {
  const { api, clock, patience } = stand;
  const channel = await connectCsi({ clock, log: silentLogger }, { address: `unix://${driver.socket}` });
  const volume_capabilities = [{ mount: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } }];
  try {
    await inParallel(names, concurrency, async (name) => {
      const { volume } = await channel.call(
        '/csi.v1.Controller/CreateVolume',
        { name, volume_capabilities },
        { timeoutMs: callMs, signal: patience.signal },
      );
      const csi = { driver: driver.name, volumeHandle: volume?.volume_id ?? '' };
      await api.create(persistentVolumes, aVolume(name, csi));
    });
  } finally {
    channel.close();
  }
}

/** Each of the volumes to one of the nodes, in turn. Resolves with when the API server had accepted each, in monotonic milliseconds. */
export async function attach(place: Place, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const acceptedAtMs = new Map<string, number>();
  await inParallel(names.entries(), concurrency, async ([index, name]) => {
    const node = nodeName(place, nodeIds[index % nodeIds.length] ?? '');
    const wanted = { attacher: place.driver.name, volumeName: name, nodeName: node };
    await place.stand.api.create(volumeAttachments, anAttachment(name, wanted));
    acceptedAtMs.set(name, place.stand.clock.monotonicMs());
  });
  return acceptedAtMs;
}

export async function detach({ stand }: Place, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => stand.api.delete(volumeAttachments, { name }));
}

/** The objects, not what is in the storage. */
export async function deleteVolumes({ stand }: Place, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => stand.api.delete(persistentVolumes, { name }));
}
