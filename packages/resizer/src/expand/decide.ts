// SPDX-License-Identifier: Apache-2.0
/** Rows E1 to E15: up to the call. Pure; first match wins. The rows of the answer are in `decide-answer.ts`. */
import { done, dropped, isFailed, type PersistentVolume, requeueAfter, retry } from '@csi-sidecars/runtime';
import type { Quantity } from '@csi-sidecars/volume';
import {
  allocatedSize,
  capacityOf,
  type Claim,
  claimKey,
  hasCondition,
  isBound,
  requestedSize,
  resizeStatusOf,
} from '../claim.ts';
import type { ResizerDriver } from '../driver.ts';
import type { ResizerSettings } from '../settings.ts';
import { isLess, isSame } from '../size.ts';
import { capacityOfVolume, isBoundTo, mayExpand, preResizeCapacityOf } from '../volume.ts';
import { afterConflictMs, conclude, fail } from './conclude.ts';
import { decideAnswer } from './decide-answer.ts';
import { chooseLegacyTarget } from './legacy.ts';
import * as messages from './messages.ts';
import { toExpandRequest } from './request.ts';
import type { Action, ExpandState, Marking } from './state.ts';
import { chooseTarget, type Target } from './target.ts';

export interface DecideContext {
  readonly driver: ResizerDriver;
  readonly settings: Pick<ResizerSettings, 'features'>;
}

/** The claim and its PersistentVolume, both there and ours. */
export interface Pair {
  readonly claim: Claim;
  readonly volume: PersistentVolume;
}

export function decide(s: ExpandState, context: DecideContext): Action {
  const { claim, volume } = s;
  if (claim === undefined) return conclude('E1', done);
  if (volume === undefined) return conclude('E2', done);
  const { driver, settings } = context;
  if (!mayExpand(claim, volume, driver.name) || !isBoundTo(volume, claim)) return conclude('E3', done);
  const pair = { claim, volume };
  if (s.expanded !== 'unasked') return decideAnswer(s, pair, context);
  if (settings.features.annotateFsResize && isNodeDone(pair)) {
    if (isFailed(s.annotationRemoved)) return conclude('E4', retry(s.annotationRemoved.failure));
    if (s.annotationRemoved === 'untried') return { row: 'E4', kind: 'removeAnnotation', volume };
  }
  if (!isBound(claim) || !isLess(capacityOf(claim), requestedSize(claim))) return conclude('E5', done);
  return decideExpansion(s, pair, context);
}

/** The claim has the size of its PersistentVolume, and the size from before is still recorded. */
function isNodeDone({ claim, volume }: Pair): boolean {
  return preResizeCapacityOf(volume) !== undefined && !isLess(capacityOf(claim), capacityOfVolume(volume));
}

function decideExpansion(s: ExpandState, pair: Pair, context: DecideContext): Action {
  const { claim, volume } = pair;
  const isLegacy = !context.settings.features.recovery;
  const chosen = s.target === undefined ? choose(s, pair, context) : pinned(s.target);
  if (chosen.kind === 'wait') return conclude(chosen.row, done);
  const target = chosen.size;
  const isRepeated = isSameTarget(claim, target);
  if (s.target === undefined && isRepeated && isHeldBack(s, claim) && !isLegacy) {
    return conclude('E6', requeueAfter(s.infeasibleForMs));
  }
  // Logged with the row that chose the size.
  if (s.turn === 'unasked') return { row: chosen.row, kind: 'takeTurn', volumeHandle: turnOf(volume) };
  if (s.turn === 'busy') return conclude('E7', dropped);
  if (s.marked === 'conflict') return conclude('E8', requeueAfter(afterConflictMs));
  if (isFailed(s.marked)) {
    const message = messages.notMarked(claimKey(claim), s.marked.failure.message);
    return conclude('E9', retry(new Error(message, { cause: s.marked.failure })));
  }
  const status: Marking = isLegacy ? 'legacy' : isRepeated ? 'same' : 'new';
  if (s.marked === 'untried') return { row: 'E10', kind: 'mark', claim, target, status };
  return decideCall(s, pair, { ...context, target });
}

/** A refusal that the claim does not show yet has to be shown first: the size is asked for again, which records the answer. */
function isHeldBack({ infeasibleForMs }: ExpandState, claim: Claim): boolean {
  return infeasibleForMs > 0 && resizeStatusOf(claim) === 'ControllerResizeInfeasible';
}

const pinned = (size: Quantity): Target => ({ row: 'E10', kind: 'expand', size });

function choose(s: ExpandState, { claim, volume }: Pair, { driver, settings }: DecideContext): Target {
  const requested = requestedSize(claim);
  const volumeCapacity = capacityOfVolume(volume);
  const isFileSystemResizePending = hasCondition(claim, 'FileSystemResizePending');
  if (!settings.features.recovery) return chooseLegacyTarget({ requested, volumeCapacity, isFileSystemResizePending });
  return chooseTarget({
    requested,
    capacity: capacityOf(claim),
    volumeCapacity,
    isFileSystemResizePending,
    allocated: allocatedSize(claim),
    resizeStatus: resizeStatusOf(claim),
    isFinal: s.entry !== undefined,
    isTrivial: driver.expansion === 'trivial',
  });
}

function isSameTarget(claim: Claim, target: Quantity): boolean {
  const allocated = allocatedSize(claim);
  return allocated !== undefined && isSame(allocated, target);
}

/** Two PersistentVolumes of one volume take turns as well. */
function turnOf({ metadata, spec }: PersistentVolume): string {
  return spec?.csi?.volumeHandle ?? metadata?.name ?? '';
}

interface CallContext extends DecideContext {
  readonly target: Quantity;
}

function decideCall(s: ExpandState, { claim, volume }: Pair, { driver, target }: CallContext): Action {
  if (s.entry?.kind === 'final' && s.entry.isInUse && s.isUsed) {
    return fail('E11', messages.inUse(claimKey(claim), driver.name));
  }
  if (!s.isAnnounced) return { row: 'E12', kind: 'announce', claim, volume, target };
  if (driver.expansion === 'trivial') return { row: 'E13', kind: 'skipCall', target };
  const planned = toExpandRequest(volume, target, driver);
  const names = { volumeName: volume.metadata?.name ?? '', driverName: driver.name };
  if (planned.kind === 'error') return fail('E14', messages.notExpanded(names, planned.message));
  const { request, reference, migrated } = planned.value;
  if (isFailed(s.secrets)) {
    return fail('E14', messages.notExpanded(names, s.secrets.failure.message), s.secrets.failure);
  }
  if (reference !== undefined && s.secrets === 'unasked') return { row: 'E14', kind: 'readSecret', reference };
  const secrets = s.secrets === 'unasked' ? {} : { secrets: s.secrets.value };
  return { row: 'E15', kind: 'expand', claim, migrated, request: { ...request, ...secrets } };
}
