// SPDX-License-Identifier: Apache-2.0
/**
 * Objects of another driver and its users, as in a busy cluster. The controller-manager must be stopped, or it would work for minutes
 * on objects that only have to exist.
 */
import { inParallel } from '@csi-sidecars/e2e';
import {
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
  type ApiClient,
  type KubeObject,
  type Resource,
} from '@csi-sidecars/runtime';
import { anObject, type Kind } from '../runtime/objects.ts';
import type { BenchCluster } from './bench-cluster.ts';

const namespace = 'foreign';
const concurrency = 64;

const serviceAccounts: Resource = {
  group: '',
  version: 'v1',
  plural: 'serviceaccounts',
  kind: 'ServiceAccount',
  namespaced: true,
};
const resources: Readonly<Record<Kind, Resource>> = {
  PersistentVolume: persistentVolumes,
  PersistentVolumeClaim: persistentVolumeClaims,
  VolumeAttachment: volumeAttachments,
  Pod: pods,
};

export interface ForeignObjects {
  readonly kinds: readonly Kind[];
  /** The number of objects of each kind. */
  readonly count: number;
}

export async function createForeignObjects(
  { api, patience }: Pick<BenchCluster, 'api' | 'patience'>,
  { kinds, count }: ForeignObjects,
): Promise<void> {
  await api.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  // The one that the pods name.
  await api.create(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'database', namespace },
  });
  for (const kind of kinds) {
    const resource = resources[kind];
    await inParallel(Array(count).keys(), concurrency, async (n) => {
      patience.signal.throwIfAborted();
      const object = anObject(kind, n, n + 1) as KubeObject & { readonly status: object };
      // Fields that the server sets; a new object may not contain them.
      const { uid: _uid, resourceVersion: _version, creationTimestamp: _time, ...metadata } = object.metadata ?? {};
      const placed = resource.namespaced ? { ...metadata, namespace } : metadata;
      await api.create(resource, { ...object, metadata: placed });
      // Half of a pod is what its kubelet reports.
      if (kind === 'Pod') await reportStatus(api, placed.name ?? '', object.status);
    });
  }
}

async function reportStatus(api: ApiClient, name: string, status: object): Promise<void> {
  const target = { resource: pods, ref: { namespace, name } };
  await api.patch(target, { type: 'merge', body: { status } }, { subresource: 'status' });
}
