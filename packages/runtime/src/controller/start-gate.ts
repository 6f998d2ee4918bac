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

/** For work that is not under a lease. */
export const openGate: StartGate = { open: true, whenOpen: () => Promise.resolve() };
