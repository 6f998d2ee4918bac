// SPDX-License-Identifier: Apache-2.0
/**
 * How the last ControllerModifyVolume for a claim ended, if this process knows. A claim without an entry whose status says
 * `InProgress` is uncertain: its call is open, or was made by another process.
 */
import type { ClaimKey } from '../claim.ts';

export type ModifyEntry =
  /** The driver refused the class for good. */
  | { readonly kind: 'infeasible'; readonly uid: string; readonly sinceMs: number }
  /** No call is open: the driver refused the last one, or none was made. */
  | { readonly kind: 'settled'; readonly uid: string };

export interface ModifyMemory {
  /** Undefined for a claim of the same name with another UID. */
  get(key: ClaimKey, uid: string): ModifyEntry | undefined;
  set(key: ClaimKey, entry: ModifyEntry): void;
  delete(key: ClaimKey): void;
}

export function createModifyMemory(): ModifyMemory {
  const entries = new Map<ClaimKey, ModifyEntry>();
  return {
    get: (key, uid) => {
      const entry = entries.get(key);
      return entry?.uid === uid ? entry : undefined;
    },
    set: (key, entry) => void entries.set(key, entry),
    delete: (key) => void entries.delete(key),
  };
}
