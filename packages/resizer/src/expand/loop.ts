// SPDX-License-Identifier: Apache-2.0
/** The expansion loop assembled: what it watches, and what wakes it. */
import {
  type Caches,
  type Change,
  type Clock,
  defineLoop,
  isResync,
  type Lister,
  type Loop,
  type LoopTypes,
  type PersistentVolume,
  type Pod,
  toObjectKey,
} from '@csi-sidecars/runtime';
import {
  annotationOf,
  capacityOf,
  type Claim,
  type ClaimKey,
  needsExpansion,
  requestedSize,
  resizeStatusOf,
  volumeNameOf,
} from '../claim.ts';
import { claimPrimary, endRun, observeByBoth } from '../claim-loop.ts';
import { annotations } from '../names.ts';
import { wakeOnForeignChanges } from '../own-write-filter.ts';
import { isLess, isSame } from '../size.ts';
import type { ClaimContext, Conclusion, WatchedByBoth } from '../steps.ts';
import { preResizeCapacityOf } from '../volume.ts';
import { claimsUsedBy, newlyBoundClaim, type Watched } from '../watched.ts';
import { expand, type Observed } from './flow.ts';

interface ExpandLoop extends LoopTypes {
  readonly key: ClaimKey;
  /** Pods with the index `claim`. They are not watched without `--handle-volume-inuse-error`. */
  readonly watched: WatchedByBoth & { readonly pods: Pod };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: ClaimContext;
}

export function expandLoop(context: ClaimContext, watched: Watched, clock: Clock): Loop {
  const { driver, settings, locks, ownWriteFilter } = context;
  const foreign = wakeOnForeignChanges(ownWriteFilter, matters);
  return defineLoop<ExpandLoop>({
    name: `${driver.name}-pvc`,
    settings,
    watches: { ...watched, pods: settings.handleInUseErrors ? watched.pods : undefined },
    primary: claimPrimary(context),
    handlers: {
      claims: foreign.onChange,
      // The claim may have come first.
      volumes: (change, caches) => newlyBoundClaim(change, caches, (claim) => isOpen(claim, change.current)),
      // A driver that expands offline only may be asked again.
      pods: ({ previous }, caches) => previous && freed(previous, context, caches),
    },
    sources: [locks.onFree.expand, foreign.source],
    observe: (caches, key) => observe(context, caches, { key, clock }),
    context,
    flow: (observed) => expand(observed, context),
    onEnd: (run) => endRun(context, 'expand', run),
  });
}

function observe(
  context: ClaimContext,
  caches: Caches<ExpandLoop>,
  { key, clock }: { readonly key: ClaimKey; readonly clock: Clock },
): Observed {
  return {
    ...observeByBoth(context, caches, { key, clock }),
    isUsed: caches.pods.byIndex('claim', key).length > 0,
  };
}

/** A row other than E1 to E3 and E5 may apply. Most claims have what they ask for, and appear at each start and with each resync. */
function isOpen(claim: Claim, volume: PersistentVolume | undefined): boolean {
  return needsExpansion(claim) || (volume !== undefined && preResizeCapacityOf(volume) !== undefined);
}

/**
 * An open claim that is new, offered again by a resync, or was not open before; of one that was open, a change of what the decision reads.
 * Labels, conditions and a falling capacity are no reason.
 */
export function matters(
  change: Change<Claim>,
  { volumes }: { readonly volumes: Pick<Lister<PersistentVolume>, 'get'> },
): boolean {
  const { previous, current } = change;
  if (current === undefined) return false;
  const volume = volumes.get(toObjectKey(undefined, volumeNameOf(current)));
  const isOpenNow = isOpen(current, volume);
  if (previous === undefined || isResync(change) || !isOpen(previous, volume)) return isOpenNow;
  return (
    !isSame(requestedSize(previous), requestedSize(current)) ||
    annotationOf(previous, annotations.storageResizer) !== annotationOf(current, annotations.storageResizer) ||
    isLess(capacityOf(previous), capacityOf(current)) ||
    resizeStatusOf(previous) !== resizeStatusOf(current)
  );
}

/** The claims of a pod that changed or is gone, as far as their last call found the volume in use and no other pod uses them. */
function freed(pod: Pod, { memory }: ClaimContext, { claims, pods }: Caches<ExpandLoop>): readonly ClaimKey[] {
  return claimsUsedBy(pod).filter((key) => {
    const entry = memory.get(key, claims.get(key)?.metadata?.uid);
    return entry?.kind === 'final' && entry.isInUse && pods.byIndex('claim', key).length === 0;
  });
}
