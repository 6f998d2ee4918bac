// SPDX-License-Identifier: Apache-2.0
/** What the expansion loop writes to a claim: the table of status writes of the resizer's page. */
import type { Step } from '@csi-sidecars/runtime';
import { type Claim } from '../claim.ts';
import { type ConditionChange, conditionsPatch, resizeConditions, transitionTime } from '../conditions.ts';
import { annotations } from '../names.ts';
import { toText } from '../size.ts';
import { patchClaim, patchGuardedClaim, type WriteClaimDeps } from '../write-claim.ts';
import * as messages from './messages.ts';
import type { ExpandContext, ExpandLoop, ExpandState } from './state.ts';

type Writing = Pick<Step<ExpandLoop>, 'client' | 'caches' | 'signal'>;

const depsOf = ({ ownWrites }: ExpandContext, { client, caches, signal }: Writing): WriteClaimDeps => ({
  client,
  claims: caches.claims,
  ownWrites,
  signal,
});

const withoutNote = { [annotations.nodeExpansionNotRequired]: null };

/** Guarded by the resource version: the size that is asked for must follow from what the claim is now. */
export async function mark(context: ExpandContext, step: Step<ExpandLoop, 'mark'>): Promise<Partial<ExpandState>> {
  const { claim, target, status } = step.action;
  const nowMs = step.clock.nowMs();
  const begins = status !== 'same';
  const conditions: ConditionChange = {
    set: [{ type: 'Resizing', lastTransitionTime: transitionTime(claim, { type: 'Resizing' }, nowMs) }],
    remove: begins ? resizeConditions.filter((type) => type !== 'Resizing') : [],
  };
  const allocation =
    status === 'new'
      ? {
          allocatedResources: { storage: toText(target) },
          allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
        }
      : {};
  const result = await patchGuardedClaim(depsOf(context, step), claim, {
    status: { ...conditionsPatch(claim, conditions), ...allocation },
    ...(status === 'legacy' ? {} : { annotations: withoutNote }),
  });
  if (result.written !== 'done') return { marked: result.written, claim: result.claim };
  if (status === 'new') noteNoCall(context, step);
  return { marked: 'done', claim: result.claim, target };
}

/** No call for the new size is under way yet, so the user may still change it. What is known about pods stays. */
function noteNoCall({ memory }: ExpandContext, { key, state, action }: Step<ExpandLoop, 'mark'>): void {
  const isInUse = state.entry?.kind === 'final' && state.entry.isInUse;
  memory.set(key, { kind: 'final', uid: action.claim.metadata?.uid ?? '', isInUse });
}

export async function saveResult(
  context: ExpandContext,
  step: Step<ExpandLoop, 'saveResult'>,
): Promise<Partial<ExpandState>> {
  const { claim, result } = step.action;
  const patch = result.needsNode
    ? pendingOnNode(claim, { nowMs: step.clock.nowMs(), isLegacy: result.path === 'legacy' })
    : finished(claim, { size: toText(result.size), isLegacy: result.path === 'legacy' });
  const { written, claim: stored } = await patchClaim(depsOf(context, step), claim, patch);
  return { resultSaved: written, claim: stored };
}

function pendingOnNode(claim: Claim, { nowMs, isLegacy }: { readonly nowMs: number; readonly isLegacy: boolean }) {
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

function finished(claim: Claim, { size, isLegacy }: { readonly size: string; readonly isLegacy: boolean }) {
  const status = {
    ...conditionsPatch(claim, { set: [], remove: [...resizeConditions] }),
    capacity: { storage: size },
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
  const conditions: ConditionChange = {
    set: [{ ...error, lastTransitionTime: transitionTime(claim, error, step.clock.nowMs()) }],
    remove: [],
  };
  const { written, claim: stored } = await patchClaim(depsOf(context, step), claim, {
    status: {
      ...conditionsPatch(claim, conditions),
      ...(isInfeasible ? { allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } } : {}),
    },
  });
  return { failureSaved: written, claim: stored };
}
