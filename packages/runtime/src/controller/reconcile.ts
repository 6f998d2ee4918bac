// SPDX-License-Identifier: Apache-2.0
/** What the queue does next with a key. There is no "error plus requeueAfter". */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'requeueAfter'; readonly afterMs: number }
  | { readonly kind: 'retry'; readonly cause: Error; readonly withinMs?: number }
  | { readonly kind: 'postpone'; readonly reason: string }
  | { readonly kind: 'dropped' };

/** One run for one key. Throws only for defects: those are logged with stack, counted and retried. */
export type Reconcile<Key extends string> = (key: Key, signal: AbortSignal) => Promise<Outcome>;

/** Nothing is left to do: failures of the key are forgotten, and its next run comes with its next change. */
export const done: Outcome = { kind: 'done' };
/** The key is not ours: as `done`, but its failures are not forgotten. */
export const dropped: Outcome = { kind: 'dropped' };
/** It has failed: the cause is logged, and the next run comes after the delay of the rate limiter, which grows with each failure. */
export const retry = (cause: Error): Outcome => ({ kind: 'retry', cause });
/** As `retry`, but the next run comes after `withinMs` at the latest. */
export const retryWithin = (withinMs: number, cause: Error): Outcome => ({ kind: 'retry', cause, withinMs });
/** It waits for something outside: backs off as `retry`, and the reason is logged as information. */
export const postpone = (reason: string): Outcome => ({ kind: 'postpone', reason });
/** Failures are forgotten, and the next run comes after so long: 10 ms at least, for 0 and less too. NaN is a defect. */
export const requeueAfter = (afterMs: number): Outcome => ({ kind: 'requeueAfter', afterMs });

export interface Conclusion {
  /** The row of the behaviour page that it comes from. */
  readonly row: string;
  readonly kind: 'conclude';
  readonly outcome: Outcome;
}
