// SPDX-License-Identifier: Apache-2.0
/**
 * Our finalizer on a claim. Upstream's role allows PUT and no patches of claims, so each write carries the whole claim, which the cache
 * keeps, and its resource version. Writes of one claim do not overlap.
 */
import {
  type ApiClient,
  type Cache,
  type Clock,
  finalizersWith,
  finalizersWithout,
  ignoreNotFound,
  type KeyedLock,
  keyOf,
  mayHaveHappened,
  type ObjectKey,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Random,
  retryOnConflict,
  toObjectKey,
  writeObject,
} from '@csi-sidecars/runtime';
import { snapshotFinalizers, type VolumeSnapshot, volumeSnapshots } from '@csi-sidecars/volume';
import { isBound } from '../source-volume.ts';
import { isProtected, sourceClaimKey } from './snapshot.ts';
import type { ClaimReleases } from './claim-releases.ts';

export interface ClaimDeps {
  readonly client: Pick<ApiClient, 'get' | 'update'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly claims: Pick<Cache<PersistentVolumeClaim>, 'get' | 'remember' | 'doubt'>;
  readonly lock: KeyedLock<ObjectKey>;
  readonly releases: Pick<ClaimReleases, 'give' | 'take'>;
}

/** Rejects if the claim is being deleted, or a later one of its name is not bound. Resolves with the claim that has our finalizer. */
export async function protectClaim(
  deps: ClaimDeps,
  claim: PersistentVolumeClaim,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  let isOurs = false;
  const finalizersOf = (known: PersistentVolumeClaim): readonly string[] | undefined => {
    const finalizers = finalizersWith(known, snapshotFinalizers.claim);
    isOurs = finalizers !== undefined;
    if (finalizers === undefined) return undefined;
    if (known.metadata?.deletionTimestamp !== undefined) {
      throw new Error('cannot add finalizer on claim because it is being deleted');
    }
    if (!isBound(known)) throw new Error('cannot add finalizer on claim because it is not bound');
    return finalizers;
  };
  const stored = await changeFinalizers(deps, { claim, finalizersOf }, signal);
  if (isOurs) deps.releases.give(stored.metadata?.uid ?? '');
  return stored;
}

/** `isInUse` is asked before each attempt: a snapshot that needs the finalizer may have come. A claim that is gone has none. */
export async function releaseClaim(
  deps: ClaimDeps,
  { claim, isInUse }: { readonly claim: PersistentVolumeClaim; readonly isInUse: () => boolean },
  signal: AbortSignal,
): Promise<void> {
  const finalizersOf = (known: PersistentVolumeClaim): readonly string[] | undefined =>
    known.metadata?.uid !== claim.metadata?.uid || isInUse()
      ? undefined
      : finalizersWithout(known, snapshotFinalizers.claim);
  const stored = await changeFinalizers(deps, { claim, finalizersOf }, signal).catch(ignoreNotFound);
  const { uid = '' } = claim.metadata ?? {};
  if (stored?.metadata?.uid !== uid || !isProtected(stored)) deps.releases.take(uid);
}

/**
 * The cache may show a snapshot as it was before it got its finalizers, or lack it, and another replica takes it, or did so before this one
 * began. One list, because there may be many that never get any.
 */
export async function readSnapshotsOf(
  claim: PersistentVolumeClaim,
  {
    client,
    caches,
    signal,
  }: {
    readonly client: Pick<ApiClient, 'list'>;
    readonly caches: { readonly snapshots: Pick<Cache<VolumeSnapshot>, 'remember'> };
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { namespace } = claim.metadata ?? {};
  const { items } = await client.list(volumeSnapshots, { namespace }, { signal });
  const key = keyOf(claim);
  for (const snapshot of items) if (sourceClaimKey(snapshot) === key) caches.snapshots.remember(snapshot);
}

interface FinalizerChange {
  readonly claim: PersistentVolumeClaim;
  /** Undefined: nothing is to be written. */
  readonly finalizersOf: (known: PersistentVolumeClaim) => readonly string[] | undefined;
}

/**
 * Changes the claim of the cache; after a conflict, that of the API server. Resolves with the claim as it is then, and the cache shows it,
 * also after a write without an answer, or the claim is in doubt.
 */
function changeFinalizers(
  { client, clock, random, claims, lock }: ClaimDeps,
  { claim, finalizersOf }: FinalizerChange,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  const { namespace, name = '' } = claim.metadata ?? {};
  const key = toObjectKey(namespace, name);
  return lock.run(key, () => {
    let known = claims.get(key) ?? claim;
    let isOld = false;
    const readAgain = async (): Promise<PersistentVolumeClaim> => {
      const current = await client.get(persistentVolumeClaims, { namespace, name }, { signal });
      claims.remember(current);
      return current;
    };
    return retryOnConflict({ clock, random }, async () => {
      if (isOld) known = await readAgain();
      const finalizers = finalizersOf(known);
      if (finalizers === undefined) return known;
      isOld = true;
      const changed = { ...known, metadata: { ...known.metadata, finalizers } };
      try {
        return await writeObject(claims, known, () => client.update(persistentVolumeClaims, changed, { signal }));
      } catch (error) {
        if (!mayHaveHappened(error)) throw error;
        // Until a slow watch shows what has happened, a snapshot could go and leave the finalizer behind.
        const current = await readAgain().catch(() => undefined);
        if (current === undefined || finalizersOf(current) !== undefined) throw error;
        return current;
      }
    });
  });
}
