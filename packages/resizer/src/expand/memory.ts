// SPDX-License-Identifier: Apache-2.0
/**
 * How the last ControllerExpandVolume for a claim ended, if this process knows. A claim without an entry: its last call succeeded,
 * is open, or was made by another process. Entries end with a success, an open outcome or the claim.
 */
import type { ClaimKey } from '../claim.ts';

export type ExpandEntry =
  /** The driver refused the size for good. */
  | { readonly kind: 'infeasible'; readonly uid: string; readonly sinceMs: number }
  /** The driver is not working on it any more. `isInUse`: it expands this volume only while no pod uses it. */
  | { readonly kind: 'final'; readonly uid: string; readonly isInUse: boolean };

export interface ExpandMemory {
  /** Undefined for a claim of the same name with another UID. */
  get(key: ClaimKey, uid: string): ExpandEntry | undefined;
  set(key: ClaimKey, entry: ExpandEntry): void;
  delete(key: ClaimKey): void;
  /** The last call found the volume in use. */
  isInUse(key: ClaimKey): boolean;
}

export function createExpandMemory(): ExpandMemory {
  const entries = new Map<ClaimKey, ExpandEntry>();
  return {
    get: (key, uid) => {
      const entry = entries.get(key);
      return entry?.uid === uid ? entry : undefined;
    },
    set: (key, entry) => void entries.set(key, entry),
    delete: (key) => void entries.delete(key),
    isInUse: (key) => {
      const entry = entries.get(key);
      return entry?.kind === 'final' && entry.isInUse;
    },
  };
}
