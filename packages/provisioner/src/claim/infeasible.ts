// SPDX-License-Identifier: Apache-2.0
/**
 * Claims that the driver called impossible (InvalidArgument) with their class: the same request would only be refused
 * again, so it waits five minutes, or until the class is another one. In memory only.
 */
import type { Clock } from '@csi-sidecars/runtime';
import type { ClaimUid } from './claim.ts';

const retentionMs = 5 * 60_000;

export interface InfeasibleClaims {
  /** The first refusal counts: repeated ones do not push the next try further away. */
  add(uid: ClaimUid, classUid: string): void;
  /** How long the claim still has to wait with this class; 0: not at all. */
  remainingMs(uid: ClaimUid, classUid: string): number;
  delete(uid: ClaimUid): void;
}

export function createInfeasibleClaims(clock: Clock): InfeasibleClaims {
  const entries = new Map<ClaimUid, { readonly untilMs: number; readonly classUid: string }>();
  return {
    add: (uid, classUid) => {
      if (!entries.has(uid)) entries.set(uid, { untilMs: clock.monotonicMs() + retentionMs, classUid });
    },
    remainingMs: (uid, classUid) => {
      const entry = entries.get(uid);
      if (entry === undefined) return 0;
      const leftMs = entry.classUid === classUid ? entry.untilMs - clock.monotonicMs() : 0;
      if (leftMs <= 0) entries.delete(uid);
      return Math.max(leftMs, 0);
    },
    delete: (uid) => void entries.delete(uid),
  };
}
