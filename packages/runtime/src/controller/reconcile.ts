// SPDX-License-Identifier: Apache-2.0
/** What the queue does next. There is no "error plus requeueAfter". */
export type Outcome =
  | { readonly kind: 'done' } // forget failures
  | { readonly kind: 'requeueAfter'; readonly afterMs: number } // forget, look again later
  | { readonly kind: 'retry'; readonly cause: Error; readonly withinMs?: number } // back off, but run again within this time
  | { readonly kind: 'postpone'; readonly reason: string } // back off, but count no error: the key waits for an event outside
  | { readonly kind: 'dropped' }; // not ours: leave the failure counter alone

/** One run for one key. Throws only for defects: those are logged with stack, counted and retried. */
export type Reconcile<Key extends string> = (key: Key, signal: AbortSignal) => Promise<Outcome>;

export const done: Outcome = { kind: 'done' };
export const dropped: Outcome = { kind: 'dropped' };
export const retry = (cause: Error): Outcome => ({ kind: 'retry', cause });
export const retryWithin = (withinMs: number, cause: Error): Outcome => ({ kind: 'retry', cause, withinMs });
export const postpone = (reason: string): Outcome => ({ kind: 'postpone', reason });
export const requeueAfter = (afterMs: number): Outcome => ({ kind: 'requeueAfter', afterMs });

export interface Conclusion {
  /** The row of the behaviour page that it comes from. */
  readonly row: string;
  readonly kind: 'conclude';
  readonly outcome: Outcome;
}
