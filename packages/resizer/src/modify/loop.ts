// SPDX-License-Identifier: Apache-2.0
/** The modification loop assembled: what it watches, and what wakes it. */
import {
  type Caches,
  type Change,
  type Clock,
  defineLoop,
  type InformerOptions,
  isResync,
  type Loop,
  type LoopTypes,
  toObjectKey,
  type VolumeAttributesClass,
} from '@csi-sidecars/runtime';
import {
  type Claim,
  type ClaimKey,
  claimKey,
  isBound,
  modifyStatusOf,
  needsModification,
  wantedClassOf,
} from '../claim.ts';
import { claimPrimary, endRun, observeByBoth } from '../claim-loop.ts';
import { wakeOnForeignChanges } from '../own-write-filter.ts';
import type { ClaimContext, Conclusion, WatchedByBoth } from '../steps.ts';
import { newlyBoundClaim, type Watched } from '../watched.ts';
import { modify, type Observed } from './flow.ts';

interface ModifyLoop extends LoopTypes {
  readonly key: ClaimKey;
  /** Claims with the index `class`. */
  readonly watched: WatchedByBoth & { readonly classes: VolumeAttributesClass };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: ClaimContext;
}

export interface ModifyWatched extends Pick<Watched, 'claims' | 'volumes'> {
  readonly classes: InformerOptions<VolumeAttributesClass>;
}

export function modifyLoop(context: ClaimContext, watched: ModifyWatched, clock: Clock): Loop {
  const { driver, settings, locks, ownWriteFilter } = context;
  const foreign = wakeOnForeignChanges(ownWriteFilter, matters);
  return defineLoop<ModifyLoop>({
    name: `${driver.name}-pvc-modify`,
    settings,
    watches: { claims: watched.claims, volumes: watched.volumes, classes: watched.classes },
    primary: claimPrimary(context),
    handlers: {
      claims: foreign.onChange,
      // The claim may have come first.
      volumes: (change, caches) => newlyBoundClaim(change, caches, needsModification),
      // Claims may name a class before it exists.
      classes: ({ current }, { claims }) =>
        current && claims.byIndex('class', current.metadata?.name ?? '').map(claimKey),
    },
    sources: [locks.onFree.modify, foreign.source],
    observe: (caches, key) => observe(context, caches, { key, clock }),
    context,
    flow: (observed) => modify(observed, context),
    onEnd: (run) => {
      const claim = run.caches.claims.get(run.key);
      if (claim !== undefined) endHold(context, run.key, claim);
      endRun(context, 'modify', run);
    },
  });
}

function observe(
  context: ClaimContext,
  caches: Caches<ModifyLoop>,
  { key, clock }: { readonly key: ClaimKey; readonly clock: Clock },
): Observed {
  const observed = observeByBoth(context, caches, { key, clock });
  const { claim } = observed;
  const classNamed = (name: string) => caches.classes.get(toObjectKey(undefined, name));
  return {
    ...observed,
    wantedClass: claim && classNamed(wantedClassOf(claim)),
    targetClass: claim && classNamed(modifyStatusOf(claim)?.targetVolumeAttributesClassName ?? ''),
  };
}

/** An infeasible class is held back while the user keeps to it. The user may want another one, or none, and then that class again. */
function endHold({ memory }: ClaimContext, key: ClaimKey, claim: Claim): void {
  const uid = claim.metadata?.uid ?? '';
  const isKept = modifyStatusOf(claim)?.targetVolumeAttributesClassName === wantedClassOf(claim);
  if (!isKept && memory.get(key, uid)?.kind === 'infeasible') memory.set(key, { kind: 'final', uid, isInUse: false });
}

/**
 * A claim with something to modify that is new, offered again by a resync, newly bound, or names another class than before. A
 * modification that is recorded continues with its own retries: a resync does not shorten its backoff.
 */
export function matters(change: Change<Claim>): boolean {
  const { previous, current } = change;
  if (current === undefined || !isBound(current)) return false;
  if (previous === undefined) return needsModification(current);
  if (wantedClassOf(previous) !== wantedClassOf(current)) return true;
  return isUnrecorded(current) && (isResync(change) || !isBound(previous) || !isUnrecorded(previous));
}

function isUnrecorded(claim: Claim): boolean {
  return needsModification(claim) && modifyStatusOf(claim) === undefined;
}
