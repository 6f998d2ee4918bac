// SPDX-License-Identifier: Apache-2.0
/**
 * Which claims of this process need their source. A claim holds its source from before the source is protected until the claim is settled,
 * saved or given up. The source loops remove no finalizer from a source that is held.
 *
 * | A claim | because | its source |
 * |---|---|---|
 * | holds | a CreateVolume may begin, be under way, or have made a volume that is not recorded | stays protected |
 * | failed | no volume is made for it: its last CreateVolume was settled without one, or none was sent and it alone protected the source | may go if it is being deleted |
 * | unknown | this process has not called CreateVolume for it | stays protected while the claim is pending |
 */
import type { WakeUps } from '@csi-sidecars/runtime';
import type { ClaimUid } from '../claim/claim.ts';
import { sourceKey, type SourceKey, type SourceRef } from './source.ts';

export interface SourceHolds {
  /** Waits for a removal of the finalizer that is under way. Once it has resolved no other begins. */
  take(claim: ClaimUid, source: SourceRef): Promise<void>;
  /** The claim needs its source no more, at least until its next attempt. Wakes the source when no claim holds it. */
  end(claim: ClaimUid, last: 'failed' | 'other'): void;
  /** How many claims hold the source. */
  holders(source: SourceRef): number;
  stanceOf(claim: ClaimUid): 'holds' | 'failed' | 'unknown';
  /** The claim has left the cache. A hold stays until its `end`. */
  forget(claim: ClaimUid): void;
  /** Removes the finalizer of a source by `work`, unless a claim holds it. Claims that want to hold it meanwhile wait. */
  whileFree(source: SourceRef, work: () => Promise<void>): Promise<'held' | 'done'>;
}

export function createSourceHolds(sources: Pick<WakeUps<SourceKey>, 'wake'>): SourceHolds {
  const sourceOf = new Map<ClaimUid, SourceKey>();
  const claimsOf = new Map<SourceKey, Set<ClaimUid>>();
  const failed = new Set<ClaimUid>();
  const removals = new Map<SourceKey, Promise<unknown>>();

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
    take: async (claim, source) => {
      const key = sourceKey(source);
      for (let removal = removals.get(key); removal !== undefined; removal = removals.get(key)) await removal;
      if (sourceOf.get(claim) !== key) drop(claim);
      sourceOf.set(claim, key);
      const claims = claimsOf.get(key) ?? new Set();
      claimsOf.set(key, claims.add(claim));
    },
    end: (claim, last) => {
      if (last === 'failed') failed.add(claim);
      drop(claim);
    },
    holders: (source) => claimsOf.get(sourceKey(source))?.size ?? 0,
    stanceOf: (claim) => (sourceOf.has(claim) ? 'holds' : failed.has(claim) ? 'failed' : 'unknown'),
    forget: (claim) => void failed.delete(claim),
    whileFree: async (source, work) => {
      const key = sourceKey(source);
      if (claimsOf.has(key)) return 'held';
      const before = removals.get(key);
      const removal = (async () => {
        await before;
        await work();
      })().finally(() => {
        if (removals.get(key) === settled) removals.delete(key);
      });
      const settled = removal.catch(() => undefined);
      removals.set(key, settled);
      await removal;
      return 'done';
    },
  };
}
