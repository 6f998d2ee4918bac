// SPDX-License-Identifier: Apache-2.0
/** What a loop remembers about the last call for each claim. Entries are those of one process, and a restart forgets them. */
import type { ClaimKey } from './claim.ts';

export interface ClaimMemory<Entry extends { readonly uid: string }> {
  /** Undefined for a claim of the same name with another UID. */
  get(key: ClaimKey, uid: string): Entry | undefined;
  set(key: ClaimKey, entry: Entry): void;
  delete(key: ClaimKey): void;
}

export function createClaimMemory<Entry extends { readonly uid: string }>(): ClaimMemory<Entry> {
  const entries = new Map<ClaimKey, Entry>();
  return {
    get: (key, uid) => {
      const entry = entries.get(key);
      return entry?.uid === uid ? entry : undefined;
    },
    set: (key, entry) => void entries.set(key, entry),
    delete: (key) => void entries.delete(key),
  };
}
