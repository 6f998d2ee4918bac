// SPDX-License-Identifier: Apache-2.0
/** The loop of claims assembled: what it watches, and what wakes it. */
import { defineLoop, keyOf, type Loop } from '@csi-sidecars/runtime';
import { sourceClaimKey } from '../snapshot/snapshot.ts';
import type { Watched } from '../watched.ts';
import { decide, isHeld } from './decide.ts';
import { performers } from './perform.ts';
import type { ClaimContext, ClaimLoop } from './state.ts';

export function claimLoop(context: ClaimContext, { claims, snapshots }: Pick<Watched, 'claims' | 'snapshots'>): Loop {
  return defineLoop<ClaimLoop>({
    name: 'snapshot-controller-claim',
    settings: context.settings,
    watches: { claims, snapshots },
    subject: { watch: 'claims', keyOf: (claim) => keyOf(claim) },
    // Whichever of the two caches shows its part last wakes the claim.
    wakes: {
      claims: ({ current }) => (current !== undefined && isHeld(current) ? keyOf(current) : undefined),
      snapshots: ({ previous, current }, caches) => {
        const key = current === undefined && previous !== undefined ? sourceClaimKey(previous) : undefined;
        const claim = key && caches.claims.get(key);
        return claim !== undefined && isHeld(claim) ? key : undefined;
      },
    },
    observe: (caches, key) => ({
      claim: caches.claims.get(key),
      hasSnapshot: caches.snapshots.byIndex('claim', key).length > 0,
      released: 'untried',
    }),
    decide,
    perform: performers(context),
  });
}
