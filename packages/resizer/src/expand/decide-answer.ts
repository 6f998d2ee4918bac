// SPDX-License-Identifier: Apache-2.0
/** Rows E16 to E26: after the call. Pure; first match wins. */
import { done, isFailed, type PersistentVolume, requeueAfter } from '@csi-sidecars/runtime';
import { outcomeOfExpansion } from '../call-outcome.ts';
import { capacityOf, type Claim, claimKey, conditionsOf, requestedSize, resizeStatusOf } from '../claim.ts';
import { isLess, isSame, toText } from '../size.ts';
import { capacityOfVolume, preResizeCapacityOf } from '../volume.ts';
import { afterConflictMs, conclude, fail } from './conclude.ts';
import type { DecideContext, Pair } from './decide.ts';
import * as messages from './messages.ts';
import type { Action, Expansion, ExpandState } from './state.ts';

export function decideAnswer(s: ExpandState, pair: Pair, context: DecideContext): Action {
  const { expanded } = s;
  if (expanded === 'unasked') throw new Error('no answer to decide on');
  return isFailed(expanded)
    ? afterFailure(s, { ...pair, failure: expanded.failure }, context)
    : afterSuccess(s, { ...pair, expansion: expanded.value }, context);
}

function afterFailure(
  s: ExpandState,
  { claim, volume, failure }: Pair & { readonly failure: Error },
  { driver, settings }: DecideContext,
): Action {
  const outcome = outcomeOfExpansion(failure);
  const message = messages.notExpanded(namesOf(volume, driver.name), failure.message);
  if (!settings.features.recovery) return fail('L3', message, failure);
  if (outcome === 'open' || outcome === 'notSent') return fail('E16', message, failure);
  const row = outcome === 'infeasible' ? 'E17' : 'E18';
  const { failureSaved } = s;
  const isInfeasible = outcome === 'infeasible';
  if (failureSaved === 'untried' && !showsFailure(claim, failure, isInfeasible)) {
    return { row, kind: 'saveFailure', claim, failure, isInfeasible };
  }
  if (!isFailed(failureSaved)) return fail(row, message, failure);
  return fail(row, messages.failureNotSaved(claimKey(claim), failure.message, failureSaved.failure.message), failure);
}

/** A retry that fails as the last one did has nothing to write. */
function showsFailure(claim: Claim, failure: Error, isInfeasible: boolean): boolean {
  const message = messages.failedCondition(failure.message);
  const isShown = conditionsOf(claim).some(
    (condition) => condition.type === 'ControllerResizeError' && condition.message === message,
  );
  return isShown && (!isInfeasible || resizeStatusOf(claim) === 'ControllerResizeInfeasible');
}

function afterSuccess(
  s: ExpandState,
  { claim, volume, expansion }: Pair & { readonly expansion: Expansion },
  { driver, settings }: DecideContext,
): Action {
  const names = namesOf(volume, driver.name);
  const shortfall = driver.expansion === 'trivial' ? undefined : shortfallOf(s, expansion);
  // What the driver answered is recorded unless it is no growth at all: a PersistentVolume must not shrink for an odd answer.
  if (shortfall !== undefined && s.volumeSaved === 'untried' && !isLess(capacityOfVolume(volume), expansion.size)) {
    return fail('E19', messages.notExpanded(names, shortfall));
  }
  if (isFailed(s.volumeSaved)) {
    const { failure } = s.volumeSaved;
    const message = messages.volumeNotSaved(names.volumeName, toText(expansion.size), failure.message);
    return fail('E20', message, failure);
  }
  const before = settings.features.annotateFsResize ? sizeToRecord({ claim, volume }, expansion) : undefined;
  const isSaved =
    s.volumeSaved === 'done' || (isSame(capacityOfVolume(volume), expansion.size) && before === undefined);
  if (!isSaved) {
    const { size } = expansion;
    return { row: 'E21', kind: 'saveVolume', volume, size, ...(before === undefined ? {} : { before }) };
  }
  return saveResult(
    s,
    { claim, expansion },
    { path: settings.features.recovery ? 'recovery' : 'legacy', shortfall, names },
  );
}

interface ResultContext {
  readonly path: 'recovery' | 'legacy';
  readonly shortfall: string | undefined;
  readonly names: messages.Names;
}

function saveResult(
  { resultSaved }: ExpandState,
  { claim, expansion }: { readonly claim: Claim; readonly expansion: Expansion },
  { path, shortfall, names }: ResultContext,
): Action {
  const { needsNode, size } = expansion;
  const row = needsNode ? 'E23' : 'E24';
  if (resultSaved === 'untried') return { row, kind: 'saveResult', claim, result: { needsNode, size, path } };
  if (isFailed(resultSaved)) {
    const text = needsNode ? messages.pendingNotSaved : messages.finishNotSaved;
    return fail('E22', text(claimKey(claim), resultSaved.failure.message), resultSaved.failure);
  }
  // The claim was read again: what it needs now is another decision.
  if (resultSaved === 'overtaken') return conclude('E26', requeueAfter(afterConflictMs));
  if (shortfall !== undefined) return fail('E25', messages.notExpanded(names, shortfall));
  if (needsNode) return conclude(row, done, messages.needsNode);
  // An older size may have been due before the one that the user wants by now. The own write does not wake the claim.
  const isEnough = !isLess(capacityOf(claim), requestedSize(claim));
  return conclude(row, isEnough ? done : requeueAfter(0), messages.finished);
}

/** Why the answer is not enough; undefined: it is. */
function shortfallOf({ target }: ExpandState, { size }: Expansion): string | undefined {
  if (target === undefined || !isLess(size, target)) return undefined;
  return messages.tooSmall(toText(size), toText(target));
}

/** The size of the claim before this expansion. One that is recorded stays: the oldest size counts. */
function sizeToRecord({ claim, volume }: Pair, { needsNode }: Expansion): string | undefined {
  if (!needsNode || preResizeCapacityOf(volume) !== undefined) return undefined;
  return claim.status?.capacity?.['storage'];
}

function namesOf({ metadata }: PersistentVolume, driverName: string): messages.Names {
  return { volumeName: metadata?.name ?? '', driverName };
}
