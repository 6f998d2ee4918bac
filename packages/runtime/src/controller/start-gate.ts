// SPDX-License-Identifier: Apache-2.0

/**
 * Whether new work may start. A suspended process may resume with pending work long after another replica took its lease, so
 * workers ask the gate before each reconcile.
 */
export interface StartGate {
  /** Computed at the moment of asking. */
  readonly open: boolean;
  /** Resolves when the gate is open; rejects with the signal's reason. */
  whenOpen(signal: AbortSignal): Promise<void>;
}

/** The gate of work under a lease. A loop asks it also between two steps, and the client of the work before each write. */
export interface LeaseGate extends StartGate {
  /** False once another replica may have the lease, by the clock of this process: nothing may be called or written any more. */
  readonly held: boolean;
}

/** For work that is not under a lease. */
export const openGate: LeaseGate = { open: true, held: true, whenOpen: () => Promise.resolve() };
