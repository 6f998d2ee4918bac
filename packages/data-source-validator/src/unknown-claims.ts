// SPDX-License-Identifier: Apache-2.0
/** The claims whose source no populator registers, as the last look at each of them has found. Both loops share it. */
import type { Clock, ObjectKey } from '@csi-sidecars/runtime';

export interface UnknownClaims {
  /** Keeps the time of the first of several calls. */
  add(key: ObjectKey): void;
  delete(key: ObjectKey): void;
  /** Milliseconds since the claim was found; undefined: it is not among them. */
  ageMs(key: ObjectKey): number | undefined;
  readonly size: number;
}

export function createUnknownClaims(clock: Pick<Clock, 'monotonicMs'>): UnknownClaims {
  const since = new Map<ObjectKey, number>();
  return {
    add: (key) => {
      if (!since.has(key)) since.set(key, clock.monotonicMs());
    },
    delete: (key) => void since.delete(key),
    ageMs: (key) => {
      const sinceMs = since.get(key);
      return sinceMs === undefined ? undefined : clock.monotonicMs() - sinceMs;
    },
    get size() {
      return since.size;
    },
  };
}
