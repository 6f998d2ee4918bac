// SPDX-License-Identifier: Apache-2.0
/** What the queue does next. There is no "error plus requeueAfter". */
export type Outcome =
  | { readonly kind: 'done' } // forget failures
  | { readonly kind: 'requeueAfter'; readonly afterMs: number } // forget, look again later
  | { readonly kind: 'retry'; readonly cause: Error } // back off
  | { readonly kind: 'dropped' }; // not ours: leave the failure counter alone

/** One run for one key. Throws only for defects: those are logged with stack, counted and retried. */
export type Reconcile<Key extends string> = (key: Key, signal: AbortSignal) => Promise<Outcome>;

export const done: Outcome = { kind: 'done' };
export const dropped: Outcome = { kind: 'dropped' };
export const retry = (cause: Error): Outcome => ({ kind: 'retry', cause });
export const requeueAfter = (afterMs: number): Outcome => ({ kind: 'requeueAfter', afterMs });
