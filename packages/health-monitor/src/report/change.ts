// SPDX-License-Identifier: Apache-2.0
/** What has to be written so that a claim shows what its driver reports. A report replaces what is stored; it is never merged. */
import { type HealthCondition, type HealthStatus, isEqual, isSameSet, sorted } from './health-status.ts';

export type HealthChange =
  | {
      readonly kind: 'set';
      readonly conditions: readonly HealthCondition[];
      /** The time of the stored set, if only messages change. Undefined: now. */
      readonly since: string | undefined;
      /** Only messages change. */
      readonly isMessageOnly: boolean;
    }
  | { readonly kind: 'clear' };

/** Undefined: the claim shows it already. `reported` is sorted. */
export function changeOf(
  stored: HealthStatus | undefined,
  reported: readonly HealthCondition[],
): HealthChange | undefined {
  const base = sorted(stored?.healthConditions ?? []);
  if (isEqual(base, reported)) return undefined;
  if (reported.length === 0) return { kind: 'clear' };
  const isMessageOnly = isSameSet(base, reported);
  const since = isMessageOnly ? stored?.lastTransitionTime : undefined;
  return { kind: 'set', conditions: reported, since, isMessageOnly };
}

/** Whether the API server has stored the change; an older server, or one whose feature gate is off, drops the field and answers 200. */
export function isStored(answer: HealthStatus | undefined, change: HealthChange): boolean {
  return isEqual(sorted(answer?.healthConditions ?? []), change.kind === 'set' ? change.conditions : []);
}
