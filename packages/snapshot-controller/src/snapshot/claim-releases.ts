// SPDX-License-Identifier: Apache-2.0
/**
 * Claims that lose our finalizer at this moment. A run that relies on the finalizer must not begin meanwhile: what it sees in the cache
 * is about to go.
 */
import type { ObjectKey } from '@csi-sidecars/runtime';

export interface ClaimReleases {
  has(claim: ObjectKey): boolean;
  /** Runs the release; `has` is true meanwhile. */
  during<T>(claim: ObjectKey, release: () => Promise<T>): Promise<T>;
}

export function createClaimReleases(): ClaimReleases {
  const running = new Map<ObjectKey, number>();
  return {
    has: (claim) => running.has(claim),
    async during(claim, release) {
      running.set(claim, (running.get(claim) ?? 0) + 1);
      try {
        return await release();
      } finally {
        const left = (running.get(claim) ?? 1) - 1;
        if (left === 0) running.delete(claim);
        else running.set(claim, left);
      }
    },
  };
}
