// SPDX-License-Identifier: Apache-2.0
/**
 * Volumes, claims and attachments of another driver, as in a busy cluster. The controller-manager must be stopped, or it
 * would work for minutes on objects that only have to exist.
 */
import {
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
  volumeAttachments,
  type KubeObject,
  type Resource,
} from '@csi-sidecars/runtime';
import { anObject, type Kind } from '../runtime/objects.ts';
import { inParallel } from './in-parallel.ts';
import type { BenchCluster } from './bench-cluster.ts';

const namespace = 'foreign';
const concurrency = 64;

const kinds: Readonly<Partial<Record<Kind, Resource>>> = {
  PersistentVolume: persistentVolumes,
  PersistentVolumeClaim: persistentVolumeClaims,
  VolumeAttachment: volumeAttachments,
};

export async function createForeignObjects({ api, patience }: BenchCluster, count: number): Promise<void> {
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  for (const [kind, resource] of Object.entries(kinds) as [Kind, Resource][]) {
    await inParallel(Array(count).keys(), concurrency, async (n) => {
      patience.signal.throwIfAborted();
      const object = anObject(kind, n, n + 1) as KubeObject;
      // Fields that the server sets; a new object may not contain them.
      const { uid: _uid, resourceVersion: _version, creationTimestamp: _time, ...metadata } = object.metadata ?? {};
      await api.create(resource, { ...object, metadata: resource.namespaced ? { ...metadata, namespace } : metadata });
    });
  }
}
