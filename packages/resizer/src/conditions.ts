// SPDX-License-Identifier: Apache-2.0
/**
 * Conditions of a claim as parts of a strategic merge patch: entries by type, so that the conditions of kubelet and other
 * controllers stay as they are, however old the cached claim is.
 */
import { timestamp } from '@csi-sidecars/runtime';
import { type Claim, conditionsOf } from './claim.ts';

export const resizeConditions = [
  'Resizing',
  'FileSystemResizePending',
  'ControllerResizeError',
  'NodeResizeError',
] as const;
export const modifyConditions = ['ModifyingVolume', 'ModifyVolumeError'] as const;

type ConditionType = (typeof resizeConditions)[number] | (typeof modifyConditions)[number];

/** One entry that is set. Fields that are not named are removed from an entry that has them. */
export interface SetCondition {
  readonly type: ConditionType;
  readonly message?: string;
  readonly reason?: string;
  readonly lastProbeTime?: string;
  readonly lastTransitionTime: string;
}

export interface ConditionChange {
  readonly set: readonly SetCondition[];
  readonly remove: readonly ConditionType[];
}

type PatchPart = Readonly<Record<string, unknown>>;

/** Part of `status`. Existing entries keep their place, new ones come last. */
export function conditionsPatch(claim: Claim, { set, remove }: ConditionChange): PatchPart {
  const existing = conditionsOf(claim).map(({ type }) => type);
  const kept = existing.filter((type) => !remove.includes(type as ConditionType));
  const added = set.map(({ type }) => type).filter((type) => !existing.includes(type));
  const order: readonly string[] = [...kept, ...added];
  // The API server refuses a patch whose entries have another order than the order that it names.
  const entries = set.toSorted((left, right) => order.indexOf(left.type) - order.indexOf(right.type));
  return {
    '$setElementOrder/conditions': order.map((type) => ({ type })),
    conditions: [
      ...entries.map(({ type, message, reason, lastProbeTime, lastTransitionTime }) => ({
        type,
        status: 'True',
        message: message ?? null,
        reason: reason ?? null,
        lastProbeTime: lastProbeTime ?? null,
        lastTransitionTime,
      })),
      ...remove.map((type) => ({ type, $patch: 'delete' })),
    ],
  };
}

/** The transition time moves only when the status or the reason changes. */
export function transitionTime(
  claim: Claim,
  { type, reason }: { readonly type: ConditionType; readonly reason?: string },
  nowMs: number,
): string {
  const known = conditionsOf(claim).find((condition) => condition.type === type && condition.status === 'True');
  const isSame = known !== undefined && (known.reason ?? '') === (reason ?? '');
  return (isSame ? known.lastTransitionTime : undefined) ?? timestamp(nowMs);
}
