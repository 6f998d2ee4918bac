// SPDX-License-Identifier: Apache-2.0
/** What the expansion loop writes to a claim: the table of status writes of the resizer's page. */
import type { Step } from '@csi-sidecars/runtime';
import type { Quantity } from '@csi-sidecars/volume';
import { allocatedSize, capacityOf, type Claim, hasCondition, isUnderWay, resizeStatusOf } from '../claim.ts';
import { type ConditionChange, conditionsPatch, resizeConditions, transitionTime } from '../conditions.ts';
import { annotations } from '../names.ts';
import { isLess, isSame, toText } from '../size.ts';
import { changeClaim, type ClaimPatch, patchGuardedClaim, type WriteClaimDeps } from '../write-claim.ts';
import * as messages from './messages.ts';
import type { ExpandContext, ExpandLoop, ExpandState, SavedResult } from './state.ts';

type Writing = Pick<Step<ExpandLoop>, 'client' | 'clock' | 'random' | 'caches' | 'signal'>;

const depsOf = ({ ownWrites }: ExpandContext, { caches, ...ports }: Writing): WriteClaimDeps => ({
  ...ports,
  claims: caches.claims,
  ownWrites,
});

const withoutNote = { [annotations.nodeExpansionNotRequired]: null };

/** Each attempt begins with it: the size that is asked for must follow from what the claim is now. */
export async function mark(context: ExpandContext, step: Step<ExpandLoop, 'mark'>): Promise<Partial<ExpandState>> {
  const { claim, target, status } = step.action;
  const nowMs = step.clock.nowMs();
  const conditions: ConditionChange = {
    set: [{ type: 'Resizing', lastTransitionTime: transitionTime(claim, { type: 'Resizing' }, nowMs) }],
    remove: status === 'same' ? [] : resizeConditions.filter((type) => type !== 'Resizing'),
  };
  // The call may end without an answer. Then the claim must not show the end of an earlier call for the same size.
  const begins = status === 'new' || (status === 'same' && !isUnderWay(claim));
  const allocation = {
    ...(status === 'new' ? { allocatedResources: { storage: toText(target) } } : {}),
    ...(begins ? { allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' } } : {}),
  };
  const result = await patchGuardedClaim(depsOf(context, step), claim, {
    status: { ...conditionsPatch(claim, conditions), ...allocation },
    ...(status === 'legacy' ? {} : { annotations: withoutNote }),
  });
  if (result.written !== 'done') return { marked: result.written, claim: result.claim };
  if (begins) noteNoCall(context, step);
  return { marked: 'done', claim: result.claim, target };
}

/** No call for the size is under way yet, so the user may still change it. What is known about pods stays. */
function noteNoCall({ memory }: ExpandContext, { key, state, action }: Step<ExpandLoop, 'mark'>): void {
  const isInUse = state.entry?.kind === 'final' && state.entry.isInUse;
  memory.set(key, { kind: 'final', uid: action.claim.metadata?.uid ?? '', isInUse });
}

export async function saveResult(
  context: ExpandContext,
  step: Step<ExpandLoop, 'saveResult'>,
): Promise<Partial<ExpandState>> {
  const { claim, result } = step.action;
  const isLegacy = result.path === 'legacy';
  let isOvertaken = false;
  const { written, claim: stored } = await changeClaim(depsOf(context, step), claim, (known) => {
    isOvertaken = !isSameAttempt(claim, known, result.path);
    if (isOvertaken) return undefined;
    if (!result.needsNode) return finished(known, { size: result.size, isLegacy });
    isOvertaken = hasNodeFinished(claim, known, result);
    return isOvertaken ? settled(known, { isLegacy }) : pendingOnNode(known, { nowMs: step.clock.nowMs(), isLegacy });
  });
  return { resultSaved: written === 'done' && isOvertaken ? 'overtaken' : written, claim: stored };
}

/** No other program has ended the attempt, handed it to the node or begun another one since the claim was marked. */
function isSameAttempt(marked: Claim, known: Claim, path: SavedResult['path']): boolean {
  if (path === 'legacy') return hasCondition(marked, 'Resizing') === hasCondition(known, 'Resizing');
  const [before, now] = [allocatedSize(marked), allocatedSize(known)];
  const isSameSize = before === undefined || now === undefined ? before === now : isSame(before, now);
  return isSameSize && resizeStatusOf(marked) === resizeStatusOf(known);
}

/**
 * A kubelet before 1.32 begins as soon as the PersistentVolume has the size, and may end before the claim says that it has to. Without a
 * resize status the size is one that was left over, and the node is asked once more.
 */
function hasNodeFinished(marked: Claim, known: Claim, { size, path }: SavedResult): boolean {
  return (
    !isLess(capacityOf(known), size) && (known !== marked || (path === 'recovery' && resizeStatusOf(known) !== ''))
  );
}

/** Nothing is left to do for the node: what the attempt left on the claim goes. */
function settled(claim: Claim, { isLegacy }: { readonly isLegacy: boolean }): ClaimPatch | undefined {
  const hasStatus = !isLegacy && resizeStatusOf(claim) !== '';
  if (!hasStatus && !resizeConditions.some((type) => hasCondition(claim, type))) return undefined;
  return {
    status: {
      ...conditionsPatch(claim, { set: [], remove: [...resizeConditions] }),
      ...(hasStatus ? { allocatedResourceStatuses: { storage: null } } : {}),
    },
  };
}

function pendingOnNode(
  claim: Claim,
  { nowMs, isLegacy }: { readonly nowMs: number; readonly isLegacy: boolean },
): ClaimPatch {
  const pending = { type: 'FileSystemResizePending', message: messages.pendingOnNode } as const;
  const conditions: ConditionChange = {
    set: [{ ...pending, lastTransitionTime: transitionTime(claim, pending, nowMs) }],
    remove: isLegacy ? resizeConditions.filter((type) => type !== 'FileSystemResizePending') : [],
  };
  return isLegacy
    ? { status: conditionsPatch(claim, conditions) }
    : {
        annotations: withoutNote,
        status: {
          ...conditionsPatch(claim, conditions),
          allocatedResourceStatuses: { storage: 'NodeResizePending' },
        },
      };
}

/** A capacity that is larger by now stays. */
function finished(
  claim: Claim,
  { size, isLegacy }: { readonly size: Quantity; readonly isLegacy: boolean },
): ClaimPatch {
  const status = {
    ...conditionsPatch(claim, { set: [], remove: [...resizeConditions] }),
    ...(isLess(capacityOf(claim), size) ? { capacity: { storage: toText(size) } } : {}),
  };
  return isLegacy
    ? { status }
    : {
        annotations: { [annotations.nodeExpansionNotRequired]: 'true' },
        status: { ...status, allocatedResourceStatuses: { storage: null } },
      };
}

export async function saveFailure(
  context: ExpandContext,
  step: Step<ExpandLoop, 'saveFailure'>,
): Promise<Partial<ExpandState>> {
  const { claim, failure, isInfeasible } = step.action;
  const error = { type: 'ControllerResizeError', message: messages.failedCondition(failure.message) } as const;
  const nowMs = step.clock.nowMs();
  const { written, claim: stored } = await changeClaim(depsOf(context, step), claim, (known) => {
    if (!isSameAttempt(claim, known, 'recovery')) return undefined;
    const set = [{ ...error, lastTransitionTime: transitionTime(known, error, nowMs) }];
    const status = isInfeasible ? { allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } } : {};
    return { status: { ...conditionsPatch(known, { set, remove: [] }), ...status } };
  });
  return { failureSaved: written, claim: stored };
}
