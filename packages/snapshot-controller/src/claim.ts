// SPDX-License-Identifier: Apache-2.0
/**
 * The loop of claims that are left: with our finalizer, and without a snapshot whose loop would release them. Rows R1 to R3 of the page.
 *
 * Not here: claims with snapshots, which `snapshot/` protects and releases.
 */
import {
  conclude,
  type Conclusion,
  defineLoop,
  done,
  type Flow,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  orEnd,
  perform,
  type PersistentVolumeClaim,
  retry,
  type Run,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot } from '@csi-sidecars/volume';
import { readSnapshotsOf, releaseClaim } from './snapshot/claim-finalizer.ts';
import { isDeleting, isProtected, sourceClaimKey } from './snapshot/snapshot.ts';
import type { SnapshotContext } from './snapshot/observe.ts';
import type { Watched } from './watched.ts';

interface ClaimLoop extends LoopTypes {
  readonly key: ObjectKey;
  /** With the index `claim` of `watched.ts`. */
  readonly watched: { readonly claims: PersistentVolumeClaim; readonly snapshots: VolumeSnapshot };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: ClaimContext;
}

interface Observed {
  /** Undefined: it is gone. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** A snapshot of it went in this process. */
  readonly isLeft: boolean;
  readonly hasSnapshot: boolean;
}

/** Shared with the loop of snapshots: a snapshot that comes during a release waits for its end. */
type ClaimContext = Pick<SnapshotContext, 'settings' | 'releases' | 'claimLock'>;

export function claimLoop(context: ClaimContext, { claims, snapshots }: Pick<Watched, 'claims' | 'snapshots'>): Loop {
  /** Claims of which a snapshot went. The write that protects one may be answered after that. */
  const left = new Set<ObjectKey>();
  return defineLoop<ClaimLoop>({
    name: 'snapshot-controller-claim',
    settings: context.settings,
    watches: { claims, snapshots },
    primary: { watch: 'claims', keyOf: (claim) => keyOf(claim), forget: (key) => left.delete(key) },
    // Whichever of the two caches shows its part last wakes the claim.
    handlers: {
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
    }),
    context,
    flow: lookAfter,
    onConclude: ({ key, conclusion }) => {
      if (conclusion.outcome === done) left.delete(key);
    },
  });
}

function* lookAfter({ claim, isLeft, hasSnapshot }: Observed): Flow<Conclusion> {
  if (claim === undefined || !isProtected(claim) || !(isLeft || isDeleting(claim))) return conclude('R1', done);
  if (hasSnapshot) return conclude('R2', done);
  yield* orEnd(perform('R3', release, claim), (failure) => conclude('R3', retry(failure)));
  return conclude('R3', done);
}

async function release(run: Run<ClaimLoop>, claim: PersistentVolumeClaim): Promise<void> {
  const { client, clock, random, caches, key, signal, context } = run;
  const { releases, claimLock: lock } = context;
  const deps = { client, clock, random, claims: caches.claims, lock, releases };
  const isInUse = (): boolean => caches.snapshots.byIndex('claim', key).length > 0;
  await releases.during(key, async () => {
    await readSnapshotsOf(claim, run);
    await releaseClaim(deps, { claim, isInUse }, signal);
  });
}
