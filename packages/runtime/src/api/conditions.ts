// SPDX-License-Identifier: Apache-2.0
/** Conditions of a status, as Kubernetes' own kinds have them (`metav1.Condition`). */
import type { Clock } from '../clock/clock.ts';
import { timestamp } from './timestamp.ts';

export interface Condition {
  /** CamelCase, unique in the list: `Ready`. */
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** CamelCase, for programs. */
  readonly reason: string;
  /** For people. */
  readonly message: string;
  /** The `metadata.generation` that the condition was found for. */
  readonly observedGeneration?: number;
  /** When `status` changed last. */
  readonly lastTransitionTime: string;
}

/**
 * The list with this condition in it, at its old place or at the end. Its `lastTransitionTime` is now if its status changes, and stays otherwise.
 * Returns `conditions` itself if they say the same already: then nothing has to be written.
 */
export function withCondition(
  conditions: readonly Condition[] | undefined,
  next: Omit<Condition, 'lastTransitionTime'>,
  clock: Pick<Clock, 'nowMs'>,
): readonly Condition[] {
  const known = conditionOf(conditions, next.type);
  const lastTransitionTime = known?.status === next.status ? known.lastTransitionTime : timestamp(clock.nowMs());
  const entry: Condition = { ...next, lastTransitionTime };
  if (conditions === undefined || known === undefined) return [...(conditions ?? []), entry];
  return isSame(known, entry) ? conditions : conditions.map((each) => (each === known ? entry : each));
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** The transition time is not compared: it follows from the status. */
function isSame(one: Condition, other: Condition): boolean {
  return (
    one.status === other.status &&
    one.reason === other.reason &&
    one.message === other.message &&
    one.observedGeneration === other.observedGeneration
  );
}
