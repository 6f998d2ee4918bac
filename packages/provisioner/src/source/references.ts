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
import { type Clock, createKeyedLock, type Trigger } from '@csi-sidecars/runtime';
import type { ClaimUid } from '../claim/claim.ts';
import { createSharedRequests, type SharedRequests } from './shared-requests.ts';
import { sourceKey, type SourceKey, type SourceRef } from './source.ts';

export interface SourceReferences {
  /** Waits for a removal of the finalizer that is under way. Once it has resolved no other begins. */
  acquire(claim: ClaimUid, source: SourceRef): Promise<void>;
  /** What was asked about the source of the claim since a claim has held it without a pause: the finalizer that was there then is there still. */
  requests(claim: ClaimUid): SharedRequests;
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

interface Held {
  readonly claims: Set<ClaimUid>;
  readonly requests: SharedRequests;
}

export function createSourceReferences(
  sources: Pick<Trigger<SourceKey>, 'wake'>,
  clock: Pick<Clock, 'monotonicMs'>,
): SourceReferences {
  const sourceOf = new Map<ClaimUid, SourceKey>();
  const held = new Map<SourceKey, Held>();
  const failed = new Set<ClaimUid>();
  const lock = createKeyedLock<SourceKey>();

  const drop = (claim: ClaimUid): void => {
    const key = sourceOf.get(claim);
    const claims = key && held.get(key)?.claims;
    if (key === undefined || claims === undefined) return;
    sourceOf.delete(claim);
    claims.delete(claim);
    if (claims.size > 0) return;
    held.delete(key);
    sources.wake(key);
  };

  return {
    acquire: (claim, source) => {
      const key = sourceKey(source);
      return lock.run(key, () => {
        if (sourceOf.get(claim) !== key) drop(claim);
        sourceOf.set(claim, key);
        const entry = held.get(key) ?? { claims: new Set(), requests: createSharedRequests(clock) };
        entry.claims.add(claim);
        held.set(key, entry);
      });
    },
    requests: (claim) => {
      const key = sourceOf.get(claim);
      return (key && held.get(key)?.requests) ?? createSharedRequests(clock);
    },
    release: (claim, last) => {
      if (last === 'failed') failed.add(claim);
      drop(claim);
    },
    count: (source) => held.get(sourceKey(source))?.claims.size ?? 0,
    stateOf: (claim) => (sourceOf.has(claim) ? 'inUse' : failed.has(claim) ? 'failed' : 'unknown'),
    forget: (claim) => void failed.delete(claim),
    whileUnreferenced: (source, work) => {
      const key = sourceKey(source);
      return lock.run(key, async () => {
        if (held.has(key)) return 'held';
        await work();
        return 'done';
      });
    },
  };
}
