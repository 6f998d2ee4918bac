// SPDX-License-Identifier: Apache-2.0
/**
 * Our finalizer on a claim. Upstream's role allows PUT and no patches of claims, so each write carries the whole claim and its
 * resource version, and a claim that changed is read again.
 */
import {
  type ApiClient,
  type Cache,
  type Clock,
  finalizersWith,
  finalizersWithout,
  ignoreNotFound,
  isConflict,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Random,
  retryOnConflict,
} from '@csi-sidecars/runtime';
import { snapshotFinalizers } from '@csi-sidecars/volume';

export interface ClaimDeps {
  readonly client: Pick<ApiClient, 'get' | 'update'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly claims: Pick<Cache<PersistentVolumeClaim>, 'remember'>;
}

/** What the cache keeps of a claim without our finalizer is not enough for a PUT. Rejects if the claim is being deleted. */
export async function protectClaim(
  { client, clock, random, claims }: ClaimDeps,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  return retryOnConflict({ clock, random }, async () => {
    const current = await client.get(persistentVolumeClaims, refOf(claim), { signal });
    const finalizers = finalizersWith(current, snapshotFinalizers.claim);
    if (finalizers !== undefined && current.metadata?.deletionTimestamp !== undefined) {
      throw new Error('cannot add finalizer on claim because it is being deleted');
    }
    const stored = finalizers === undefined ? current : await put(client, current, { finalizers, signal });
    claims.remember(stored);
    return stored;
  });
}

/** `isInUse` is asked before each attempt: a snapshot that needs the finalizer may have come. A claim that is gone has none. */
export async function releaseClaim(
  { client, clock, random, claims }: ClaimDeps,
  { claim, isInUse }: { readonly claim: PersistentVolumeClaim; readonly isInUse: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  let known = claim;
  let isOld = false;
  await retryOnConflict({ clock, random }, async () => {
    if (isOld) known = await client.get(persistentVolumeClaims, refOf(claim), { signal });
    const finalizers = finalizersWithout(known, snapshotFinalizers.claim);
    if (finalizers === undefined || known.metadata?.uid !== claim.metadata?.uid || isInUse()) return;
    try {
      claims.remember(await put(client, known, { finalizers, signal }));
    } catch (error) {
      isOld = isConflict(error);
      throw error;
    }
  }).catch(ignoreNotFound);
}

function refOf({ metadata }: PersistentVolumeClaim): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace: metadata?.namespace, name: metadata?.name ?? '' };
}

function put(
  client: Pick<ApiClient, 'update'>,
  claim: PersistentVolumeClaim,
  { finalizers, signal }: { readonly finalizers: readonly string[]; readonly signal: AbortSignal },
): Promise<PersistentVolumeClaim> {
  const changed = { ...claim, metadata: { ...claim.metadata, finalizers } };
  return client.update(persistentVolumeClaims, changed, { signal });
}
