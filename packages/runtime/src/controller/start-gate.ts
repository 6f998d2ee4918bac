// SPDX-License-Identifier: Apache-2.0

/**
 * Whether new work may start. A process that was suspended wakes up with work in its hands long after its lease may have
 * gone to another; the gate is what a worker asks before each reconcile.
 */
export interface StartGate {
  /** Computed at the moment of asking. */
  readonly open: boolean;
  /** Resolves when the gate is open; rejects with the signal's reason. */
  whenOpen(signal: AbortSignal): Promise<void>;
}

/** For work that is not under a lease. */
export const openGate: StartGate = { open: true, whenOpen: () => Promise.resolve() };
