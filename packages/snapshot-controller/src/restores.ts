// SPDX-License-Identifier: Apache-2.0
/**
 * A pending claim that is to be filled from a snapshot keeps its content. The cache may lack the claim: csi-provisioner protects the
 * snapshot before it calls the driver, and the API server is asked for the claims of a protected one.
 */
import {
  type ApiClient,
  type Cache,
  type ObjectKey,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
} from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeSnapshot } from '@csi-sidecars/volume';
import { restoredSnapshotKey } from './watched.ts';

type Claims = Cache<PersistentVolumeClaim>;

export function isBeingRestored(claims: Claims, snapshot: ObjectKey): boolean {
  return claims.byIndex('restores', snapshot).some(({ status }) => status?.phase === 'Pending');
}

export function isProtectedByProvisioner({ metadata }: VolumeSnapshot): boolean {
  return metadata?.finalizers?.includes(snapshotFinalizers.restored) === true;
}

/** One list of the namespace, because nothing else selects claims by their source. */
export async function readRestores(
  { client, claims, signal }: { readonly client: ApiClient; readonly claims: Claims; readonly signal: AbortSignal },
  namespace: string | undefined,
): Promise<void> {
  const { items } = await client.list(persistentVolumeClaims, { namespace }, { signal });
  for (const claim of items) if (restoredSnapshotKey(claim) !== undefined) claims.remember(claim);
}
