// SPDX-License-Identifier: Apache-2.0
/** The loop of claims assembled: what it watches, and what wakes it. */
import { defineLoop, done, keyOf, type Loop, type ObjectKey } from '@csi-sidecars/runtime';
import { isDeleting, isProtected, sourceClaimKey } from '../snapshot/snapshot.ts';
import type { Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { performers } from './perform.ts';
import type { ClaimContext, ClaimLoop } from './state.ts';

export function claimLoop(context: ClaimContext, { claims, snapshots }: Pick<Watched, 'claims' | 'snapshots'>): Loop {
  /** Claims of which a snapshot went. The write that protects one may be answered after that. */
  const left = new Set<ObjectKey>();
  return defineLoop<ClaimLoop>({
    name: 'snapshot-controller-claim',
    settings: context.settings,
    watches: { claims, snapshots },
    subject: { watch: 'claims', keyOf: (claim) => keyOf(claim), forget: (key) => left.delete(key) },
    // Whichever of the two caches shows its part last wakes the claim.
    wakes: {
      claims: ({ current }) => {
        const key = current !== undefined && isProtected(current) ? keyOf(current) : undefined;
        return key !== undefined && (left.has(key) || isDeleting(current!)) ? key : undefined;
      },
      snapshots: ({ previous, current }, caches) => {
        const key = current === undefined && previous !== undefined ? sourceClaimKey(previous) : undefined;
        if (key === undefined || caches.claims.get(key) === undefined) return undefined;
        left.add(key);
        return isProtected(caches.claims.get(key)) ? key : undefined;
      },
    },
    observe: (caches, key) => ({
      claim: caches.claims.get(key),
      isLeft: left.has(key),
      hasSnapshot: caches.snapshots.byIndex('claim', key).length > 0,
      released: 'untried',
    }),
    decide,
    perform: performers(context),
    onConclude: ({ key, conclusion }) => {
      if (conclusion.outcome === done) left.delete(key);
    },
  });
}
