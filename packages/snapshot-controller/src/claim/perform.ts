// SPDX-License-Identifier: Apache-2.0
/** What the action of the loop of claims does. No decisions: those are in `decide`. */
import { attempt, type Performers } from '@csi-sidecars/runtime';
import { readSnapshotsOf, releaseClaim } from '../snapshot/claim-finalizer.ts';
import type { ClaimContext, ClaimLoop } from './state.ts';

export function performers({ releases, claimTurns }: ClaimContext): Performers<ClaimLoop> {
  return {
    release: async (step) => {
      const { client, clock, random, caches, key, action, signal } = step;
      const deps = { client, clock, random, claims: caches.claims, turns: claimTurns, releases };
      const isInUse = (): boolean => caches.snapshots.byIndex('claim', key).length > 0;
      const run = async (): Promise<void> => {
        await readSnapshotsOf(key, step);
        await releaseClaim(deps, { claim: action.claim, isInUse }, signal);
      };
      return { released: await attempt(() => releases.during(key, run)) };
    },
  };
}
