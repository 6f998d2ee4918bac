// SPDX-License-Identifier: Apache-2.0
/**
 * How the last ControllerExpandVolume for a claim ended, if this process knows. A claim without an entry: its last call succeeded,
 * is open, or was made by another process. Entries end with a success, an open outcome or the claim.
 */
import type { ClaimMemory } from '../claim-memory.ts';

export type ExpandEntry =
  /** The driver refused the size for good. */
  | { readonly kind: 'infeasible'; readonly uid: string; readonly sinceMs: number }
  /** The driver is not working on it any more. `isInUse`: it expands this volume only while no pod uses it. */
  | { readonly kind: 'final'; readonly uid: string; readonly isInUse: boolean };

export type ExpandMemory = ClaimMemory<ExpandEntry>;
