// SPDX-License-Identifier: Apache-2.0
/** Whether a snapshot or a group is still there, before something is written that would belong to nothing. The same for both kinds. */
import { type Attempt, isFailed, type KubeObject, retry } from '@csi-sidecars/runtime';
import { conclude, type Conclusion } from './conclusions.ts';

/** Written by an earlier run: the cache may be behind, and the object may be gone. */
export interface Confirm<T extends KubeObject> {
  readonly row: string;
  readonly kind: 'confirm';
  readonly object: T;
}

export interface Confirmation {
  readonly prepared: Attempt;
  /** The object was read from the API server. */
  readonly confirmed: Attempt;
}

/**
 * For an object that is gone a content would be made that belongs to nothing, a static content would be bound to it for ever, and a claim
 * would stay protected. Undefined: the object was there in this run, and its finalizers keep it.
 */
export function confirm<T extends KubeObject>(
  { prepared, confirmed }: Confirmation,
  row: string,
  object: T,
): Confirm<T> | Conclusion | undefined {
  if (isFailed(confirmed)) return conclude(row, retry(confirmed.failure));
  return prepared === 'untried' && confirmed === 'untried' ? { row, kind: 'confirm', object } : undefined;
}
