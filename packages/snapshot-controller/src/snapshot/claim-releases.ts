// SPDX-License-Identifier: Apache-2.0
/**
 * Claims that lose our finalizer at this moment, claims that got it from this process, and snapshots that do not need theirs any more. A
 * run that relies on the finalizer must not begin meanwhile: what it sees in the cache is about to go.
 */
import type { ObjectKey } from '@csi-sidecars/runtime';

export interface ClaimReleases {
  has(claim: ObjectKey): boolean;
  /** Runs the release; `has` is true meanwhile. */
  during<T>(claim: ObjectKey, release: () => Promise<T>): Promise<T>;
  /** This process gave the claim our finalizer. So the cache shows every snapshot that relies on it, because it shows own writes at once. */
  give(claimUid: string): void;
  hasGiven(claimUid: string): boolean;
  /** It has lost the finalizer, or is gone. */
  take(claimUid: string): void;
  /**
   * The snapshot is being deleted, and does not keep its claim from now on. Of snapshots that are deleted together, the last one that
   * leaves sees that all have left: otherwise each would leave the release to another one.
   */
  leave(snapshotUid: string): void;
  hasLeft(snapshotUid: string): boolean;
  /** It is gone. */
  forget(snapshotUid: string): void;
}

export function createClaimReleases(): ClaimReleases {
  const running = new Map<ObjectKey, number>();
  const given = new Set<string>();
  const left = new Set<string>();
  return {
    has: (claim) => running.has(claim),
    async during(claim, release) {
      running.set(claim, (running.get(claim) ?? 0) + 1);
      try {
        return await release();
      } finally {
        const others = (running.get(claim) ?? 1) - 1;
        if (others === 0) running.delete(claim);
        else running.set(claim, others);
      }
    },
    give(uid) {
      given.add(uid);
    },
    hasGiven: (uid) => given.has(uid),
    take(uid) {
      given.delete(uid);
    },
    leave(uid) {
      left.add(uid);
    },
    hasLeft: (uid) => left.has(uid),
    forget(uid) {
      left.delete(uid);
    },
  };
}
