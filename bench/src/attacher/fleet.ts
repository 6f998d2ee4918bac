// SPDX-License-Identifier: Apache-2.0
/**
 * The objects that one test environment attaches: nodes that exist only in the API, volumes in the driver and in the API, and attachments
 * that the bench writes itself, because there are no pods.
 */
import { anAttachment, aVolume, inParallel } from '@csi-sidecars/e2e';
import {
  csiNodes,
  type KubeObject,
  persistentVolumes,
  volumeAttachments,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { concurrency, createStoredVolumes } from '../side-by-side/stored-volumes.ts';
import type { BenchEnvironment } from '../side-by-side/environment.ts';
import { type Watched, watched, watching, type Watching } from '../side-by-side/watching.ts';

/** As many as the driver is configured with. */
export const nodeIds: readonly string[] = ['1', '2', '3', '4', '5'].map((n) => `storage-node-${n}`);

const nodeName = ({ namespace }: BenchEnvironment, id: string): string => `${namespace}-${id}`;

export async function registerNodes(environment: BenchEnvironment): Promise<void> {
  const { cluster, driver } = environment;
  for (const id of nodeIds) {
    await cluster.api.create(csiNodes, {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: nodeName(environment, id) },
      spec: { drivers: [{ name: driver.name, nodeID: id, topologyKeys: [] }] },
    });
  }
}

/** Names are unique in the cluster, and the same for a volume and its attachment. */
export async function createVolumes(environment: BenchEnvironment, names: readonly string[]): Promise<void> {
  const { cluster, driver } = environment;
  await createStoredVolumes(environment, names, async ({ name, handle }) => {
    await cluster.api.create(persistentVolumes, aVolume(name, { driver: driver.name, volumeHandle: handle }));
  });
}

/**
 * Attaches each volume to one of the nodes, in turn. `volumeOf`: the volume of an attachment, by default that of its name. Resolves with the
 * time when the API server had accepted each, in monotonic milliseconds.
 */
export async function attach(
  environment: BenchEnvironment,
  names: readonly string[],
  volumeOf: (name: string) => string = (name) => name,
): Promise<ReadonlyMap<string, number>> {
  const acceptedAtMs = new Map<string, number>();
  await inParallel(names.entries(), concurrency, async ([index, name]) => {
    const node = nodeName(environment, nodeIds[index % nodeIds.length] ?? '');
    const wanted = { attacher: environment.driver.name, volumeName: volumeOf(name), nodeName: node };
    await environment.cluster.api.create(volumeAttachments, anAttachment(name, wanted));
    acceptedAtMs.set(name, environment.cluster.clock.monotonicMs());
  });
  return acceptedAtMs;
}

export async function detach({ cluster }: BenchEnvironment, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => cluster.api.delete(volumeAttachments, { name }));
}

/** Deletes the API objects, not the data in the storage. */
export async function deleteVolumes({ cluster }: BenchEnvironment, names: readonly string[]): Promise<void> {
  await inParallel(names, concurrency, (name) => cluster.api.delete(persistentVolumes, { name }));
}

/** By the names of attachments and volumes, which are the same. */
export async function watchAttachments(environment: BenchEnvironment): Promise<Watching> {
  const { cluster, driver } = environment;
  return await watching(cluster, [
    watchedAttachments(environment),
    watched({
      resource: persistentVolumes,
      states: {},
      gone: { released: ({ spec, metadata }) => (spec?.csi?.driver === driver.name ? metadata?.name : undefined) },
    }),
  ]);
}

export function watchedAttachments({ driver }: BenchEnvironment): Watched<KubeObject> {
  const ours = ({ spec, metadata }: VolumeAttachment): string | undefined =>
    spec.attacher === driver.name ? metadata?.name : undefined;
  return watched({
    resource: volumeAttachments,
    states: { attached: (object) => (object.status?.attached === true ? ours(object) : undefined) },
    gone: { detached: ours },
  });
}
