// SPDX-License-Identifier: Apache-2.0
/** What the modification loop writes to a claim: the table of status writes of the resizer's page. */
import { CsiError } from '@csi-sidecars/csi';
import { type Step, timestamp } from '@csi-sidecars/runtime';
import { type Claim, modifyStatusOf } from '../claim.ts';
import { conditionsPatch, modifyConditions, type SetCondition, transitionTime } from '../conditions.ts';
import { changeClaim, patchGuardedClaim, type WriteClaimDeps } from '../write-claim.ts';
import * as messages from './messages.ts';
import type { ModifyContext, ModifyLoop, ModifyState } from './state.ts';

type Writing = Pick<Step<ModifyLoop>, 'client' | 'clock' | 'random' | 'caches' | 'signal'>;

const depsOf = ({ ownWrites }: ModifyContext, { caches, ...ports }: Writing): WriteClaimDeps => ({
  ...ports,
  claims: caches.claims,
  ownWrites,
});

/** The class does not exist: the target stays what it was, because quota was charged for it. */
export async function savePending(
  context: ModifyContext,
  step: Step<ModifyLoop, 'savePending'>,
): Promise<Partial<ModifyState>> {
  const { claim } = step.action;
  const { written, claim: stored } = await patchGuardedClaim(depsOf(context, step), claim, {
    status: { modifyVolumeStatus: { status: 'Pending' } },
  });
  return { noCallSaved: written, claim: stored };
}

/**
 * As if the driver had called the class infeasible: users and test suites look for that. Guarded by the resource version: the class
 * that another process has begun to ask for meanwhile must not be overwritten.
 */
export async function saveForeign(
  context: ModifyContext,
  step: Step<ModifyLoop, 'saveForeign'>,
): Promise<Partial<ModifyState>> {
  const { claim, target } = step.action;
  const className = target.metadata?.name ?? '';
  const detail = messages.classForeign(className, target.driverName, context.driver.name);
  const conditions = failureConditions(claim, {
    modifying: messages.failedCondition(className),
    error: { code: 'InvalidArgument', detail },
    nowMs: step.clock.nowMs(),
  });
  const { written, claim: stored } = await patchGuardedClaim(depsOf(context, step), claim, {
    status: {
      ...conditions,
      modifyVolumeStatus: { status: 'Infeasible', targetVolumeAttributesClassName: className },
    },
  });
  // What the driver said about the class that was recorded before is not about this one.
  if (written === 'done') context.memory.set(step.key, { kind: 'settled', uid: claim.metadata?.uid ?? '' });
  return { noCallSaved: written, claim: stored };
}

export async function cancel(context: ModifyContext, step: Step<ModifyLoop, 'cancel'>): Promise<Partial<ModifyState>> {
  const { claim } = step.action;
  const { written, claim: stored } = await changeClaim(depsOf(context, step), claim, (known) =>
    isSameAttempt(claim, known)
      ? { status: conditionsPatch(known, { set: [], remove: ['ModifyingVolume'] }) }
      : undefined,
  );
  return { cancelled: written, claim: stored };
}

/** No other program has ended the modification or begun another one since `before`. */
function isSameAttempt(before: Claim, known: Claim): boolean {
  const [was, is] = [modifyStatusOf(before), modifyStatusOf(known)];
  return was?.status === is?.status && was?.targetVolumeAttributesClassName === is?.targetVolumeAttributesClassName;
}

/** Each attempt begins with it: the class that is asked for must follow from what the claim is now. */
export async function mark(context: ModifyContext, step: Step<ModifyLoop, 'mark'>): Promise<Partial<ModifyState>> {
  const { claim, target } = step.action;
  const className = target.metadata?.name ?? '';
  const modifying = conditionOf(claim, {
    type: 'ModifyingVolume',
    message: messages.inProgressCondition(className),
    nowMs: step.clock.nowMs(),
  });
  const result = await patchGuardedClaim(depsOf(context, step), claim, {
    status: {
      ...conditionsPatch(claim, { set: [modifying], remove: [] }),
      modifyVolumeStatus: { status: 'InProgress', targetVolumeAttributesClassName: className },
    },
  });
  if (result.written !== 'done') return { marked: result.written, claim: result.claim };
  // No call is under way yet, whatever the status says now.
  context.memory.set(step.key, { kind: 'settled', uid: claim.metadata?.uid ?? '' });
  return { marked: 'done', claim: result.claim, modifiesTo: target };
}

export async function saveResult(
  context: ModifyContext,
  step: Step<ModifyLoop, 'saveResult'>,
): Promise<Partial<ModifyState>> {
  const { claim, className } = step.action;
  const { written, claim: stored } = await changeClaim(depsOf(context, step), claim, (known) =>
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
  return { resultSaved: written, claim: stored };
}

export async function saveFailure(
  context: ModifyContext,
  step: Step<ModifyLoop, 'saveFailure'>,
): Promise<Partial<ModifyState>> {
  const { claim, failure, outcome } = step.action;
  const className = modifyStatusOf(claim)?.targetVolumeAttributesClassName ?? '';
  const text = outcome === 'open' ? messages.openCondition : messages.failedCondition;
  const { written, claim: stored } = await changeClaim(depsOf(context, step), claim, (known) => {
    if (!isSameAttempt(claim, known)) return undefined;
    const conditions = failureConditions(known, {
      modifying: text(className),
      error: failure instanceof CsiError ? failure : { code: 'Unknown', detail: failure.message },
      nowMs: step.clock.nowMs(),
    });
    return {
      status: {
        ...conditions,
        modifyVolumeStatus: { status: outcome === 'infeasible' ? 'Infeasible' : 'InProgress' },
      },
    };
  });
  return { failureSaved: written, claim: stored };
}

interface FailureInput {
  readonly modifying: string;
  readonly error: { readonly code: string; readonly detail: string };
  readonly nowMs: number;
}

function failureConditions(
  claim: Claim,
  { modifying, error, nowMs }: FailureInput,
): ReturnType<typeof conditionsPatch> {
  const set = [
    conditionOf(claim, { type: 'ModifyingVolume', message: modifying, nowMs }),
    conditionOf(claim, { type: 'ModifyVolumeError', message: error.detail, reason: error.code, nowMs }),
  ];
  return conditionsPatch(claim, { set, remove: [] });
}

interface ConditionInput {
  readonly type: (typeof modifyConditions)[number];
  readonly message: string;
  readonly reason?: string;
  readonly nowMs: number;
}

function conditionOf(claim: Claim, { nowMs, ...input }: ConditionInput): SetCondition {
  return { ...input, lastProbeTime: timestamp(nowMs), lastTransitionTime: transitionTime(claim, input, nowMs) };
}
