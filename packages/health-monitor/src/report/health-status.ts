// SPDX-License-Identifier: Apache-2.0
/** `status.healthStatus` of a claim (Kubernetes 1.37), which the types of the API client do not have yet. */
import type { PersistentVolumeClaim } from '@csi-sidecars/runtime';

export type ConditionStatus = 'DataLoss' | 'Degraded' | 'Inaccessible';

export interface HealthCondition {
  readonly status: ConditionStatus;
  readonly reason: string;
  /** Absent if the driver gives none. */
  readonly message?: string;
}

export interface HealthStatus {
  /** At most 16, unique by status and reason. */
  readonly healthConditions?: readonly HealthCondition[];
  /** When this set of status and reason first appeared. */
  readonly lastTransitionTime?: string;
}

export type Claim = PersistentVolumeClaim & { readonly status?: { readonly healthStatus?: HealthStatus } };

export function healthOf(claim: Claim | undefined): HealthStatus | undefined {
  return claim?.status?.healthStatus;
}

export function hasHealth(claim: PersistentVolumeClaim | undefined): boolean {
  return (healthOf(claim)?.healthConditions?.length ?? 0) > 0;
}

/** By status, then by reason: the order in which they are stored and compared. */
export function sorted(conditions: readonly HealthCondition[]): readonly HealthCondition[] {
  return conditions.toSorted((left, right) => order(left.status, right.status) || order(left.reason, right.reason));
}

export function order(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Of two sorted lists. */
export function isSameSet(left: readonly HealthCondition[], right: readonly HealthCondition[]): boolean {
  const equals = (one: HealthCondition, other: HealthCondition | undefined): boolean =>
    one.status === other?.status && one.reason === other.reason;
  return left.length === right.length && left.every((one, place) => equals(one, right[place]));
}

/** Of two sorted lists, their messages included. */
export function isEqual(left: readonly HealthCondition[], right: readonly HealthCondition[]): boolean {
  const messageOf = (condition: HealthCondition | undefined): string => condition?.message ?? '';
  return isSameSet(left, right) && left.every((one, place) => messageOf(one) === messageOf(right[place]));
}
