// SPDX-License-Identifier: Apache-2.0
/**
 * One pass over the cluster, in pages. Sources are read before the claims that may need them, claims before the PersistentVolumes that
 * record their volumes, so that what speaks against a removal is newer than what speaks for it.
 */
import {
  type ApiClient,
  ApiError,
  type CSIStorageCapacity,
  csiNodes,
  csiStorageCapacities,
  type KubeObject,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  toError,
} from '@csi-sidecars/runtime';
import { volumeSnapshotContents, volumeSnapshots } from '@csi-sidecars/volume';
import { labels } from '../capacity/object.ts';
import { snapshotSourceProtection, volumeFinalizer } from '../names.ts';
import { pagesOf } from '../pages.ts';
import type { Cluster } from './state.ts';

/** A list whose next page has expired begins again. */
const attempts = 3;

export type Lists = Pick<ApiClient, 'list'>;

/** Rejects with the kind that could not be listed in the message. */
export async function listCluster(client: Lists, signal: AbortSignal): Promise<Cluster> {
  const all = <T extends KubeObject>(resource: Resource<T>, query: Query<T> = {}): Promise<readonly T[]> =>
    listAll(client, { resource, ...query }, signal);
  const snapshots = await all(volumeSnapshots, {
    absent: 'none',
    keep: ({ metadata }) => metadata?.finalizers?.includes(snapshotSourceProtection) === true,
  });
  const contents = snapshots.length === 0 ? [] : await all(volumeSnapshotContents, { absent: 'none' });
  const claims = await all(persistentVolumeClaims);
  return {
    snapshots,
    contents,
    claims,
    volumes: await all(persistentVolumes, { keep: ({ metadata, spec }) => hasRole(metadata?.finalizers, spec) }),
    nodes: await all(nodes),
    csiNodes: await all(csiNodes),
    capacities: await all<CSIStorageCapacity>(csiStorageCapacities, { labelSelector: labels.managedBy }),
  };
}

/** With our finalizer, or of a claim. */
function hasRole(finalizers: readonly string[] | undefined, spec: { readonly claimRef?: object } | undefined): boolean {
  return finalizers?.includes(volumeFinalizer) === true || spec?.claimRef !== undefined;
}

interface Query<T> {
  readonly labelSelector?: string;
  readonly keep?: (object: T) => boolean;
  /** What the absence of the kind means; default: a failure. */
  readonly absent?: 'none';
}

async function listAll<T extends KubeObject>(
  client: Lists,
  { resource, labelSelector, keep = () => true, absent }: Query<T> & { readonly resource: Resource<T> },
  signal: AbortSignal,
): Promise<readonly T[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      const found: T[] = [];
      for await (const page of pagesOf(client, { resource, labelSelector }, signal)) found.push(...page.filter(keep));
      return found;
    } catch (error) {
      if (absent === 'none' && error instanceof ApiError && error.status === 404) return [];
      const isExpired = error instanceof ApiError && error.status === 410;
      if (isExpired && attempt < attempts) continue;
      throw new Error(`cannot list ${resource.plural}: ${toError(error).message}`, { cause: error });
    }
  }
}
