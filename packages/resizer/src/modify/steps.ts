// SPDX-License-Identifier: Apache-2.0
/** What each step of the modification does, and the table of status writes of the resizer's page. No decisions: those are in `flow.ts`. */
import { CsiError } from '@csi-sidecars/csi';
import { type PersistentVolume, timestamp, type VolumeAttributesClass } from '@csi-sidecars/runtime';
import { type CallOutcome, outcomeOfModification } from '../call-outcome.ts';
import { type Claim, currentClassOf, modifyStatusOf } from '../claim.ts';
import { conditionsPatch, modifyConditions, type SetCondition, transitionTime } from '../conditions.ts';
import { callDriver, type ClaimRun, noteNoCall, type Pair } from '../steps.ts';
import { changeClaim, patchGuardedClaim } from '../write-claim.ts';
import { changeVolume } from '../write-volume.ts';
import * as messages from './messages.ts';
import type { ModifyRequest } from './request.ts';

/** The class does not exist: the target stays what it was, because quota was charged for it. */
export function savePending(run: ClaimRun, claim: Claim): Promise<Claim | 'conflict'> {
  return patchGuardedClaim(run, claim, { status: { modifyVolumeStatus: { status: 'Pending' } } });
}

/**
 * As if the driver had called the class infeasible: users and test suites look for that. Guarded by the resource version: the class
 * that another process has begun to ask for meanwhile must not be overwritten.
 */
export async function saveForeign(
  run: ClaimRun,
  claim: Claim,
  { className, text }: { readonly className: string; readonly text: string },
): Promise<Claim | 'conflict'> {
  const conditions = failureConditions(claim, {
    modifying: messages.failedCondition(className),
    error: { code: 'InvalidArgument', detail: text },
    nowMs: run.clock.nowMs(),
  });
  const modifyVolumeStatus = { status: 'Infeasible', targetVolumeAttributesClassName: className };
  const saved = await patchGuardedClaim(run, claim, { status: { ...conditions, modifyVolumeStatus } });
  // What the driver said about the class that was recorded before is not about this one.
  if (saved !== 'conflict') noteNoCall(run, claim);
  return saved;
}

export function cancel(run: ClaimRun, claim: Claim): Promise<Claim> {
  return changeClaim(run, claim, (known) =>
    isSameAttempt(claim, known)
      ? { status: conditionsPatch(known, { set: [], remove: ['ModifyingVolume'] }) }
      : undefined,
  );
}

/** No other program has ended the modification or begun another one since `before`. */
function isSameAttempt(before: Claim, known: Claim): boolean {
  const [was, is] = [modifyStatusOf(before), modifyStatusOf(known)];
  return was?.status === is?.status && was?.targetVolumeAttributesClassName === is?.targetVolumeAttributesClassName;
}

/** Each attempt begins with it: the class that is asked for must follow from what the claim is now. */
export async function mark(run: ClaimRun, claim: Claim, target: VolumeAttributesClass): Promise<Claim | 'conflict'> {
  const className = target.metadata?.name ?? '';
  const message = messages.inProgressCondition(className);
  const modifying = conditionOf(claim, { type: 'ModifyingVolume', message, nowMs: run.clock.nowMs() });
  const marked = await patchGuardedClaim(run, claim, {
    status: {
      ...conditionsPatch(claim, { set: [modifying], remove: [] }),
      modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: className },
    },
  });
  if (marked !== 'conflict') noteNoCall(run, claim);
  return marked;
}

const method = '/csi.v1.Controller/ControllerModifyVolume';

export function modify(run: ClaimRun, claim: Claim, request: ModifyRequest['request']): Promise<unknown> {
  const { signal, span, context } = run;
  const options = { timeoutMs: context.settings.modifyTimeoutMs, signal, span };
  return callDriver(run, claim, {
    method,
    volumeHandle: request.volume_id,
    send: () => context.channel.call(method, request, options),
    outcomeOf: outcomeOfModification,
  });
}

/**
 * A class that another process has written meanwhile stays. The class that the claim has is none of those: the cached PersistentVolume may be
 * older than the claim, which was read or written before the call.
 */
export function saveVolume(run: ClaimRun, { claim, volume }: Pair, className: string): Promise<PersistentVolume> {
  const earlier = [classOf(volume), currentClassOf(claim)];
  return changeVolume(run, volume, (known) =>
    earlier.includes(classOf(known)) ? { spec: { volumeAttributesClassName: className } } : undefined,
  );
}

function classOf({ spec }: PersistentVolume): string {
  return spec?.volumeAttributesClassName ?? '';
}

export function saveResult(run: ClaimRun, claim: Claim, className: string): Promise<Claim> {
  return changeClaim(run, claim, (known) =>
    isSameAttempt(claim, known)
      ? {
          status: {
            ...conditionsPatch(known, { set: [], remove: [...modifyConditions] }),
            modifyVolumeStatus: null,
            currentVolumeAttributesClassName: className,
          },
        }
      : undefined,
  );
}

export function saveFailure(
  run: ClaimRun,
  claim: Claim,
  { failure, outcome }: { readonly failure: Error; readonly outcome: Exclude<CallOutcome, 'notSent'> },
): Promise<Claim> {
  const className = modifyStatusOf(claim)?.targetVolumeAttributesClassName ?? '';
  const text = outcome === 'open' ? messages.openCondition : messages.failedCondition;
  const error = failure instanceof CsiError ? failure : { code: 'Unknown', detail: failure.message };
  const facts = { modifying: text(className), error, nowMs: run.clock.nowMs() };
  const modifyVolumeStatus = { status: outcome === 'infeasible' ? 'Infeasible' : 'InProgress' };
  return changeClaim(run, claim, (known) =>
    isSameAttempt(claim, known) ? { status: { ...failureConditions(known, facts), modifyVolumeStatus } } : undefined,
  );
}

interface FailureFacts {
  readonly modifying: string;
  readonly error: { readonly code: string; readonly detail: string };
  readonly nowMs: number;
}

function failureConditions(
  claim: Claim,
  { modifying, error, nowMs }: FailureFacts,
): ReturnType<typeof conditionsPatch> {
  const set = [
    conditionOf(claim, { type: 'ModifyingVolume', message: modifying, nowMs }),
    conditionOf(claim, { type: 'ModifyVolumeError', message: error.detail, reason: error.code, nowMs }),
  ];
  return conditionsPatch(claim, { set, remove: [] });
}

interface ConditionFacts {
  readonly type: (typeof modifyConditions)[number];
  readonly message: string;
  readonly reason?: string;
  readonly nowMs: number;
}

function conditionOf(claim: Claim, { nowMs, ...facts }: ConditionFacts): SetCondition {
  return { ...facts, lastProbeTime: timestamp(nowMs), lastTransitionTime: transitionTime(claim, facts, nowMs) };
}
