// SPDX-License-Identifier: Apache-2.0
/**
 * How long a claim that is being deleted is kept if no answer settles whether a volume was created for it. The claim is given
 * up once this process has had three answers in a row since it saw the deletion, and the deletion is old enough.
 *
 * An answer is `final` when CreateVolume failed with a code that Kubernetes takes as final, else `open`: a deadline that
 * passed, a volume that cannot be recorded or deleted, or a failure that prevented the call. A call that never reached
 * the driver is no answer.
 */
import type { Clock, PersistentVolumeClaim } from '@csi-sidecars/runtime';

export type Answer = 'final' | 'open';

export interface Deletion {
  /** When this process first saw the deletion, by the monotonic clock. */
  readonly seenMs: number;
  /** The last answers, at most `countedAnswers`. */
  readonly answers: readonly Answer[];
  /** The claim was given up: its event is recorded, and it is counted. */
  readonly isGivenUp?: boolean;
}

export interface DeletionAge {
  /** By deletionTimestamp, or by this process if that is longer. */
  readonly forMs: number;
  /** By this process alone, whatever the wall clock says. */
  readonly seenForMs: number;
}

export const countedAnswers = 3;
const afterFinalAnswersMs = 60_000;
const afterOpenAnswersMs = 5 * 60_000;

/** The current state of the deletion. The monotonic clock corrects a wall clock that is behind that of the API server. */
export function deletionOf(
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
  claim: PersistentVolumeClaim,
  known: Deletion | undefined,
): Deletion & DeletionAge {
  const monotonicMs = clock.monotonicMs();
  const deletion = known ?? { seenMs: monotonicMs, answers: [] };
  const stampedMs = Date.parse(claim.metadata?.deletionTimestamp ?? '');
  const seenForMs = monotonicMs - deletion.seenMs;
  const forMs = Number.isNaN(stampedMs) ? seenForMs : Math.max(clock.nowMs() - stampedMs, seenForMs);
  return { ...deletion, forMs, seenForMs };
}

/** How long the call of a claim that is gone, or was released, is repeated from memory. */
export const repeatedForMs: number = 24 * 60 * 60_000;

/** How old the deletion must be for the claim to be given up after these answers. Undefined if there are too few. */
export function keptForMs(answers: readonly Answer[]): number | undefined {
  const last = answers.slice(-countedAnswers);
  if (last.length < countedAnswers) return undefined;
  return last.every((answer) => answer === 'final') ? afterFinalAnswersMs : afterOpenAnswersMs;
}
