// SPDX-License-Identifier: Apache-2.0
/**
 * How the last ControllerModifyVolume for a claim ended, if this process knows. A claim without an entry whose status says
 * `InProgress` is uncertain: its call is open, or was made by another process.
 */
import type { ClaimMemory } from '../claim-memory.ts';

export type ModifyEntry =
  /** The driver refused the class for good. */
  | { readonly kind: 'infeasible'; readonly uid: string; readonly sinceMs: number }
  /** No call is open: the driver refused the last one, or none was made. */
  | { readonly kind: 'settled'; readonly uid: string };

export type ModifyMemory = ClaimMemory<ModifyEntry>;
