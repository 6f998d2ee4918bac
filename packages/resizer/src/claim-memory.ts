// SPDX-License-Identifier: Apache-2.0
/**
 * How the last call for a claim ended, if this process knows. A claim without an entry: its last call succeeded, is open, or was made by
 * another process. Entries end with a success, an open outcome, the claim or the process.
 */
import type { ClaimKey } from './claim.ts';

export type CallEntry =
  /** The driver refused the request for good. */
  | { readonly kind: 'infeasible'; readonly uid: string; readonly sinceMs: number }
  /** The driver is not working on it any more. `isInUse`: it expands this volume only while no pod uses it. */
  | { readonly kind: 'final'; readonly uid: string; readonly isInUse: boolean };

export interface ClaimMemory {
  /** Undefined for a claim of the same name with another UID. */
  get(key: ClaimKey, uid: string | undefined): CallEntry | undefined;
  set(key: ClaimKey, entry: CallEntry): void;
  delete(key: ClaimKey): void;
}

export function createClaimMemory(): ClaimMemory {
  const entries = new Map<ClaimKey, CallEntry>();
  return {
    get: (key, uid) => {
      const entry = entries.get(key);
      return entry?.uid === uid ? entry : undefined;
    },
    set: (key, entry) => void entries.set(key, entry),
    delete: (key) => void entries.delete(key),
  };
}
