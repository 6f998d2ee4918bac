// SPDX-License-Identifier: Apache-2.0
/**
 * Which sources are in use by claims of this process. A claim refers to its source from before the source is protected until the claim is
 * settled, saved or given up. The source loops remove no finalizer from a source to which a claim refers.
 *
 * | A claim | because | its source |
 * |---|---|---|
 * | in use | a CreateVolume may begin, be under way, or have made a volume that is not recorded | stays protected |
 * | failed | no volume is made for it: its last CreateVolume was settled without one, or none was sent and it alone protected the source | may go if it is being deleted |
 * | unknown | this process has not called CreateVolume for it | stays protected while the claim is pending |
 */
import { createKeyedLock, type Trigger } from '@csi-sidecars/runtime';
import type { ClaimUid } from '../claim/claim.ts';
import { sourceKey, type SourceKey, type SourceRef } from './source.ts';

export interface SourceReferences {
  /** Waits for a removal of the finalizer that is under way. Once it has resolved no other begins. */
  acquire(claim: ClaimUid, source: SourceRef): Promise<void>;
  /** The claim needs its source no more, at least until its next attempt. Wakes the source when no claim holds it. */
  release(claim: ClaimUid, last: 'failed' | 'other'): void;
  /** How many claims hold the source. */
  count(source: SourceRef): number;
  stateOf(claim: ClaimUid): 'inUse' | 'failed' | 'unknown';
  /** The claim has left the cache. Its reference stays until its `release`. */
  forget(claim: ClaimUid): void;
  /** Removes the finalizer of a source by `work`, unless a claim holds it. Claims that want to hold it meanwhile wait. */
  whileUnreferenced(source: SourceRef, work: () => Promise<void>): Promise<'held' | 'done'>;
}

export function createSourceReferences(sources: Pick<Trigger<SourceKey>, 'wake'>): SourceReferences {
  const sourceOf = new Map<ClaimUid, SourceKey>();
  const claimsOf = new Map<SourceKey, Set<ClaimUid>>();
  const failed = new Set<ClaimUid>();
  const lock = createKeyedLock<SourceKey>();

  const drop = (claim: ClaimUid): void => {
    const key = sourceOf.get(claim);
    const claims = key && claimsOf.get(key);
    if (key === undefined || claims === undefined) return;
    sourceOf.delete(claim);
    claims.delete(claim);
    if (claims.size > 0) return;
    claimsOf.delete(key);
    sources.wake(key);
  };

  return {
    acquire: (claim, source) => {
      const key = sourceKey(source);
      return lock.run(key, () => {
        if (sourceOf.get(claim) !== key) drop(claim);
        sourceOf.set(claim, key);
        const claims = claimsOf.get(key) ?? new Set();
        claimsOf.set(key, claims.add(claim));
      });
    },
    release: (claim, last) => {
      if (last === 'failed') failed.add(claim);
      drop(claim);
    },
    count: (source) => claimsOf.get(sourceKey(source))?.size ?? 0,
    stateOf: (claim) => (sourceOf.has(claim) ? 'inUse' : failed.has(claim) ? 'failed' : 'unknown'),
    forget: (claim) => void failed.delete(claim),
    whileUnreferenced: (source, work) => {
      const key = sourceKey(source);
      return lock.run(key, async () => {
        if (claimsOf.has(key)) return 'held';
        await work();
        return 'done';
      });
    },
  };
}
