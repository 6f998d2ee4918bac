// SPDX-License-Identifier: Apache-2.0
/**
 * Volumes, claims and attachments of another driver, as a busy cluster has them. The controller-manager must be down, or it
 * would work for minutes on what is only there to be remembered.
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
import type { Stand } from './stand.ts';

const namespace = 'foreign';
const concurrency = 64;

const kinds: Readonly<Partial<Record<Kind, Resource>>> = {
  PersistentVolume: persistentVolumes,
  PersistentVolumeClaim: persistentVolumeClaims,
  VolumeAttachment: volumeAttachments,
};

export async function createForeignObjects({ api, patience }: Stand, count: number): Promise<void> {
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  for (const [kind, resource] of Object.entries(kinds) as [Kind, Resource][]) {
    await inParallel(Array(count).keys(), concurrency, async (n) => {
      patience.signal.throwIfAborted();
      const object = anObject(kind, n, n + 1) as KubeObject;
      // What the server gives by itself; a new object may not bring it.
      const { uid: _uid, resourceVersion: _version, creationTimestamp: _time, ...metadata } = object.metadata ?? {};
      await api.create(resource, { ...object, metadata: resource.namespaced ? { ...metadata, namespace } : metadata });
    });
  }
}
