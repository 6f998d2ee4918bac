// SPDX-License-Identifier: Apache-2.0
/**
 * Changes of one claim take turns. Snapshots of a claim that come together all want its finalizer: the first one writes it, and the others
 * find it in the cache.
 */
import type { ObjectKey } from '@csi-sidecars/runtime';

export interface ClaimTurns {
  /** Runs `change` after all earlier ones of this claim have ended, whatever became of them. */
  take<T>(claim: ObjectKey, change: () => Promise<T>): Promise<T>;
}

export function createClaimTurns(): ClaimTurns {
  const lastTurns = new Map<ObjectKey, Promise<void>>();
  return {
    async take(claim, change) {
      const earlier = lastTurns.get(claim);
      const { promise: turn, resolve: end } = Promise.withResolvers<void>();
      lastTurns.set(claim, turn);
      try {
        await earlier;
        return await change();
      } finally {
        if (lastTurns.get(claim) === turn) lastTurns.delete(claim);
        end();
      }
    },
  };
}
