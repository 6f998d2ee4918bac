// SPDX-License-Identifier: Apache-2.0
/** What each step of the expansion does, and the table of status writes of the resizer's page. No decisions: those are in `flow.ts`. */
import { type PersistentVolume } from '@csi-sidecars/runtime';
import type { Quantity } from '@csi-sidecars/volume';
import { outcomeOfExpansion } from '../call-outcome.ts';
import { allocatedSize, capacityOf, type Claim, hasCondition, isUnderWay, resizeStatusOf } from '../claim.ts';
import { type ConditionChange, conditionsPatch, resizeConditions, transitionTime } from '../conditions.ts';
import { annotations } from '../names.ts';
import { isLess, isSame, toSize, toText } from '../size.ts';
import { callDriver, type ClaimRun, noteNoCall } from '../steps.ts';
import { capacityOfVolume, preResizeCapacityOf } from '../volume.ts';
import { changeClaim, type ClaimPatch, patchGuardedClaim } from '../write-claim.ts';
import { changeVolume } from '../write-volume.ts';
import * as messages from './messages.ts';
import type { ExpandRequest } from './request.ts';

/** `new`: an expansion to another size begins. `same`: one is repeated. `legacy`: without a recorded size. */
export type Marking = 'new' | 'same' | 'legacy';

export interface Expansion {
  readonly size: Quantity;
  /** The node has to expand the file system, or at least to notice the new size. */
  readonly needsNode: boolean;
}

export function warnOfOldServer({ key, logger }: ClaimRun): void {
  logger.warn(messages.oldServer, { key });
}

/** The record of a later expansion stays. */
export function removeAnnotation(run: ClaimRun, volume: PersistentVolume): Promise<PersistentVolume> {
  const record = preResizeCapacityOf(volume);
  return changeVolume(run, volume, (known) =>
    preResizeCapacityOf(known) === record ? { annotations: { [annotations.preResizeCapacity]: null } } : undefined,
  );
}

const withoutNote = { [annotations.nodeExpansionNotRequired]: null };

/** Each attempt begins with it: the size that is asked for must follow from what the claim is now. */
export async function mark(
  run: ClaimRun,
  claim: Claim,
  { target, status }: { readonly target: Quantity; readonly status: Marking },
): Promise<Claim | 'conflict'> {
  const lastTransitionTime = transitionTime(claim, { type: 'Resizing' }, run.clock.nowMs());
  const conditions: ConditionChange = {
    set: [{ type: 'Resizing', lastTransitionTime }],
    remove: status === 'same' ? [] : resizeConditions.filter((type) => type !== 'Resizing'),
  };
  // The call may end without an answer. Then the claim must not show the end of an earlier call for the same size.
  const begins = status === 'new' || (status === 'same' && !isUnderWay(claim));
  const marked = await patchGuardedClaim(run, claim, {
    status: {
      ...conditionsPatch(claim, conditions),
      ...(status === 'new' && { allocatedResources: { storage: toText(target) } }),
      ...(begins && { allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' } }),
    },
    ...(status !== 'legacy' && { annotations: withoutNote }),
  });
  if (marked !== 'conflict' && begins) noteNoCall(run, claim);
  return marked;
}

const method = '/csi.v1.Controller/ControllerExpandVolume';

export async function expand(
  run: ClaimRun,
  claim: Claim,
  { request, migrated }: Pick<ExpandRequest, 'request' | 'migrated'>,
): Promise<Expansion> {
  const { signal, span, context } = run;
  const options = { timeoutMs: context.settings.expandTimeoutMs, signal, span, migrated };
  const answer = await callDriver(run, claim, {
    method,
    volumeHandle: request.volume_id,
    send: () => context.channel.call(method, request, options),
    outcomeOf: outcomeOfExpansion,
  });
  const size: Quantity = { nanos: BigInt(answer.capacity_bytes) * 1_000_000_000n, format: 'BinarySI' };
  return { size, needsNode: answer.node_expansion_required };
}

/** Only the node expands: there is no call, and the new size is the target. */
export function skipCall({ key, context }: ClaimRun, target: Quantity): Expansion {
  context.memory.delete(key);
  return { size: target, needsNode: true };
}

/** A size that another process has written meanwhile does not shrink. `before`: the size of the claim, to be recorded. */
export function saveVolume(
  run: ClaimRun,
  volume: PersistentVolume,
  { size, before }: { readonly size: Quantity; readonly before: string | undefined },
): Promise<PersistentVolume> {
  return changeVolume(run, volume, (known) => {
    const capacity = capacityOfVolume(known);
    if (!isSame(capacity, capacityOfVolume(volume)) && !isLess(capacity, size)) return undefined;
    const isRecorded = before === undefined || preResizeCapacityOf(known) !== undefined;
    return {
      ...(!isRecorded && { annotations: { [annotations.preResizeCapacity]: toText(toSize(before)) } }),
      spec: { capacity: { storage: toText(size) } },
    };
  });
}

/** `overtaken`: kubelet or another process has ended the attempt, or begun another one. */
export async function saveResult(
  run: ClaimRun,
  claim: Claim,
  { size, needsNode, path }: Expansion & { readonly path: 'recovery' | 'legacy' },
): Promise<Claim | 'overtaken'> {
  const isLegacy = path === 'legacy';
  let isOvertaken = false;
  const saved = await changeClaim(run, claim, (known) => {
    isOvertaken = !isSameAttempt(claim, known, path);
    if (isOvertaken) return undefined;
    if (!needsNode) return finished(known, { size, isLegacy });
    isOvertaken = hasNodeFinished(claim, known, { size, isLegacy });
    return isOvertaken ? settled(known, isLegacy) : pendingOnNode(known, { nowMs: run.clock.nowMs(), isLegacy });
  });
  return isOvertaken ? 'overtaken' : saved;
}

/** No other program has ended the attempt, handed it to the node or begun another one since the claim was marked. */
function isSameAttempt(marked: Claim, known: Claim, path: 'recovery' | 'legacy'): boolean {
  if (path === 'legacy') return hasCondition(marked, 'Resizing') === hasCondition(known, 'Resizing');
  const [before, now] = [allocatedSize(marked), allocatedSize(known)];
  const isSameSize = before === undefined || now === undefined ? before === now : isSame(before, now);
  return isSameSize && resizeStatusOf(marked) === resizeStatusOf(known);
}

interface Finished {
  readonly size: Quantity;
  readonly isLegacy: boolean;
}

/**
 * A kubelet before 1.32 begins as soon as the PersistentVolume has the size, and may end before the claim says that it has to. Without a
 * resize status the size is one that was left over, and the node is asked once more.
 */
function hasNodeFinished(marked: Claim, known: Claim, { size, isLegacy }: Finished): boolean {
  return !isLess(capacityOf(known), size) && (known !== marked || (!isLegacy && resizeStatusOf(known) !== ''));
}

/** Nothing is left to do for the node: what the attempt left on the claim goes. */
function settled(claim: Claim, isLegacy: boolean): ClaimPatch | undefined {
  const hasStatus = !isLegacy && resizeStatusOf(claim) !== '';
  if (!hasStatus && !resizeConditions.some((type) => hasCondition(claim, type))) return undefined;
  return {
    status: {
      ...conditionsPatch(claim, { set: [], remove: [...resizeConditions] }),
      ...(hasStatus && { allocatedResourceStatuses: { storage: null } }),
    },
  };
}

function pendingOnNode(
  claim: Claim,
  { nowMs, isLegacy }: { readonly nowMs: number; readonly isLegacy: boolean },
): ClaimPatch {
  const pending = { type: 'FileSystemResizePending', message: messages.pendingOnNode } as const;
  const conditions = conditionsPatch(claim, {
    set: [{ ...pending, lastTransitionTime: transitionTime(claim, pending, nowMs) }],
    remove: isLegacy ? resizeConditions.filter((type) => type !== 'FileSystemResizePending') : [],
  });
  return isLegacy
    ? { status: conditions }
    : {
        annotations: withoutNote,
        status: { ...conditions, allocatedResourceStatuses: { storage: 'NodeResizePending' } },
      };
}

/** A capacity that is larger by now stays. */
function finished(claim: Claim, { size, isLegacy }: Finished): ClaimPatch {
  const status = {
    ...conditionsPatch(claim, { set: [], remove: [...resizeConditions] }),
    ...(isLess(capacityOf(claim), size) && { capacity: { storage: toText(size) } }),
  };
  return isLegacy
    ? { status }
    : {
        annotations: { [annotations.nodeExpansionNotRequired]: 'true' },
        status: { ...status, allocatedResourceStatuses: { storage: null } },
      };
}

export function saveFailure(
  run: ClaimRun,
  claim: Claim,
  { failure, isInfeasible }: { readonly failure: Error; readonly isInfeasible: boolean },
): Promise<Claim> {
  const error = { type: 'ControllerResizeError', message: messages.failedCondition(failure.message) } as const;
  const nowMs = run.clock.nowMs();
  return changeClaim(run, claim, (known) => {
    if (!isSameAttempt(claim, known, 'recovery')) return undefined;
    const set = [{ ...error, lastTransitionTime: transitionTime(known, error, nowMs) }];
    const status = isInfeasible && { allocatedResourceStatuses: { storage: 'ControllerResizeInfeasible' } };
    return { status: { ...conditionsPatch(known, { set, remove: [] }), ...status } };
  });
}
