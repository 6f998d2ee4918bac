// SPDX-License-Identifier: Apache-2.0
/**
 * The expansion, from top to bottom: from a claim that asks for more storage than it has to ControllerExpandVolume, a larger
 * PersistentVolume, and a claim that has its size or waits for its node. Rows E1 to E26 of the resizer's page, sizes S1 to S11, and L1 to
 * L3 for the path of upstream before v2.3.0. Pure; what each step does is in `steps.ts`.
 *
 * Intent is persisted before the call (`allocatedResources`), the result after it, first on the PersistentVolume, then on the
 * claim. Every step can be repeated.
 *
 * Not here: attributes of volumes (`modify/`), the expansion of file systems (kubelet).
 */
import {
  done,
  dropped,
  type Flow,
  orEnd,
  perform,
  type PersistentVolume,
  type RecordedEvent,
  requeueAfter,
  retry,
  toError,
} from '@csi-sidecars/runtime';
import type { Quantity } from '@csi-sidecars/volume';
import { outcomeOfExpansion } from '../call-outcome.ts';
import {
  allocatedSize,
  capacityOf,
  type Claim,
  claimKey,
  conditionsOf,
  hasCondition,
  needsExpansion,
  requestedSize,
  resizeStatusOf,
} from '../claim.ts';
import type { ObservedByBoth } from '../claim-loop.ts';
import { isLess, isSame, toText } from '../size.ts';
import {
  afterConflictMs,
  announce,
  type ClaimContext,
  conclude,
  type Conclusion,
  type Pair,
  readCallSecret,
  lockVolume,
} from '../steps.ts';
import { capacityOfVolume, isBoundTo, mayExpand, preResizeCapacityOf } from '../volume.ts';
import * as messages from './messages.ts';
import { toExpandRequest } from './request.ts';
import * as step from './steps.ts';
import { chooseLegacyTarget, chooseTarget, type Target } from './target.ts';

export interface Observed extends ObservedByBoth {
  /** A pod that has not finished uses the claim. */
  readonly isUsed: boolean;
}

export interface FlowContext extends Pick<ClaimContext, 'driver'> {
  readonly settings: Pick<ClaimContext['settings'], 'features'>;
}

export function* expand(seen: Observed, context: FlowContext): Flow<Conclusion> {
  const { driver, settings } = context;
  const { annotateFsResize, recovery } = settings.features;
  const { claim } = seen;
  let { volume } = seen;
  if (claim === undefined) return conclude('E1', done);
  if (volume === undefined) return conclude('E2', done);
  if (!mayExpand(claim, volume, driver.name) || !isBoundTo(volume, claim)) return conclude('E3', done);
  if (annotateFsResize && isNodeDone({ claim, volume })) {
    volume = yield* orEnd(perform('E4', step.removeAnnotation, volume), (failure) => conclude('E4', retry(failure)));
  }
  if (!needsExpansion(claim)) return conclude('E5', done);
  const chosen = choose(seen, { claim, volume }, context);
  if (chosen.kind === 'wait') return conclude(chosen.row, done);
  const isRepeated = isSameTarget(claim, chosen.size);
  if (recovery && isRepeated && isHeldBack(seen, claim)) return conclude('E6', requeueAfter(seen.infeasibleForMs));
  if (chosen.row === 'S10') yield* perform('S10', step.warnOfOldServer);
  // Logged with the row that chose the size.
  if (!(yield* perform(chosen.row, lockVolume, 'expand', volume))) return conclude('E7', dropped);
  const marking = !recovery ? 'legacy' : isRepeated ? 'same' : 'new';
  const marked = yield* orEnd(perform('E10', step.mark, claim, { target: chosen.size, status: marking }), (cause) =>
    conclude('E9', retry(new Error(messages.notMarked(claimKey(claim), cause.message), { cause }))),
  );
  if (marked === 'conflict') return conclude('E8', requeueAfter(afterConflictMs));
  return yield* call(seen, { claim: marked, volume, target: chosen.size }, context);
}

/** The claim has the size of its PersistentVolume, and the size from before is still recorded. */
function isNodeDone({ claim, volume }: Pair): boolean {
  return preResizeCapacityOf(volume) !== undefined && !isLess(capacityOf(claim), capacityOfVolume(volume));
}

function choose({ entry }: Observed, { claim, volume }: Pair, { driver, settings }: FlowContext): Target {
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
    isFinal: entry !== undefined,
    isTrivial: driver.expansion === 'trivial',
  });
}

function isSameTarget(claim: Claim, target: Quantity): boolean {
  const allocated = allocatedSize(claim);
  return allocated !== undefined && isSame(allocated, target);
}

/** A refusal that the claim does not show yet has to be shown first: the size is asked for again, which records the answer. */
function isHeldBack({ infeasibleForMs }: Observed, claim: Claim): boolean {
  return infeasibleForMs > 0 && resizeStatusOf(claim) === 'ControllerResizeInfeasible';
}

interface Targeted extends Pair {
  readonly target: Quantity;
}

function* call({ entry, isUsed }: Observed, facts: Targeted, context: FlowContext): Flow<Conclusion> {
  const { claim, volume, target } = facts;
  const { driver } = context;
  const notExpanded = (cause: string) => messages.notExpanded(namesOf(volume, context), cause);
  if (entry?.kind === 'final' && entry.isInUse && isUsed) {
    return fail('E11', messages.inUse(claimKey(claim), driver.name));
  }
  yield* perform('E12', announce, claim, messages.resizing(volume.metadata?.name ?? ''));
  if (driver.expansion === 'trivial') {
    return yield* recordSuccess(facts, yield* perform('E13', step.skipCall, target), context);
  }
  const planned = toExpandRequest(volume, target, driver);
  if (planned.kind === 'error') return fail('E14', notExpanded(planned.message));
  const { request, reference, migrated } = planned.value;
  const secrets =
    reference &&
    (yield* orEnd(perform('E14', readCallSecret, reference), (cause) =>
      fail('E14', notExpanded(cause.message), cause),
    ));
  let expansion: step.Expansion;
  try {
    const full = { ...request, ...(secrets && { secrets }) };
    expansion = yield* perform('E15', step.expand, claim, { request: full, migrated });
  } catch (error) {
    return yield* recordFailure(facts, toError(error), context);
  }
  return yield* recordSuccess(facts, expansion, context);
}

function* recordFailure({ claim, volume }: Pair, failure: Error, context: FlowContext): Flow<Conclusion> {
  const outcome = outcomeOfExpansion(failure);
  const message = messages.notExpanded(namesOf(volume, context), failure.message);
  if (!context.settings.features.recovery) return fail('L3', message, failure);
  if (outcome === 'open' || outcome === 'notSent') return fail('E16', message, failure);
  const isInfeasible = outcome === 'infeasible';
  const row = isInfeasible ? 'E17' : 'E18';
  if (!showsFailure(claim, failure, isInfeasible)) {
    yield* orEnd(perform(row, step.saveFailure, claim, { failure, isInfeasible }), (unsaved) =>
      fail(row, messages.failureNotSaved(claimKey(claim), failure.message, unsaved.message), failure),
    );
  }
  return fail(row, message, failure);
}

/** A retry that fails as the last one did has nothing to write. */
function showsFailure(claim: Claim, failure: Error, isInfeasible: boolean): boolean {
  const text = messages.failedCondition(failure.message);
  const isShown = conditionsOf(claim).some(({ type, message }) => type === 'ControllerResizeError' && message === text);
  return isShown && (!isInfeasible || resizeStatusOf(claim) === 'ControllerResizeInfeasible');
}

/** First on the PersistentVolume, then on the claim. */
function* recordSuccess(
  { claim, volume, target }: Targeted,
  expansion: step.Expansion,
  context: FlowContext,
): Flow<Conclusion> {
  const { annotateFsResize, recovery } = context.settings.features;
  const { size, needsNode } = expansion;
  const isShort = isLess(size, target);
  const tooSmall = messages.notExpanded(namesOf(volume, context), messages.tooSmall(toText(size), toText(target)));
  // What the driver answered is recorded unless it is no growth at all: a PersistentVolume must not shrink for an odd answer.
  if (isShort && !isLess(capacityOfVolume(volume), size)) return fail('E19', tooSmall);
  const before = annotateFsResize && needsNode ? sizeToRecord({ claim, volume }) : undefined;
  if (!isSame(capacityOfVolume(volume), size) || before !== undefined) {
    yield* orEnd(perform('E21', step.saveVolume, volume, { size, before }), (cause) =>
      fail('E20', messages.volumeNotSaved(volume.metadata?.name ?? '', toText(size), cause.message), cause),
    );
  }
  const row = needsNode ? 'E23' : 'E24';
  const notSaved = needsNode ? messages.pendingNotSaved : messages.finishNotSaved;
  const saved = yield* orEnd(
    perform(row, step.saveResult, claim, { ...expansion, path: recovery ? 'recovery' : 'legacy' }),
    (cause) => fail('E22', notSaved(claimKey(claim), cause.message), cause),
  );
  // The claim was read again: what it needs now is another decision.
  if (saved === 'overtaken') return conclude('E26', requeueAfter(afterConflictMs));
  if (isShort) return fail('E25', tooSmall);
  if (needsNode) return conclude(row, done, messages.needsNode);
  // An older size may have been due before the one that the user wants by now. The own write does not wake the claim.
  const isEnough = !isLess(capacityOf(saved), requestedSize(saved));
  return conclude(row, isEnough ? done : requeueAfter(0), messages.finished);
}

/** The size of the claim before this expansion. One that is recorded stays: the oldest size counts. */
function sizeToRecord({ claim, volume }: Pair): string | undefined {
  return preResizeCapacityOf(volume) === undefined ? claim.status?.capacity?.['storage'] : undefined;
}

function namesOf({ metadata }: PersistentVolume, { driver }: FlowContext): messages.Names {
  return { volumeName: metadata?.name ?? '', driverName: driver.name };
}

/** With the event that users see, and the backoff. */
function fail(row: string, message: string, cause?: Error): Conclusion {
  const event: RecordedEvent = messages.failed(message);
  return conclude(row, retry(new Error(message, { cause })), event);
}
