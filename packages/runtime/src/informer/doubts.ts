// SPDX-License-Identifier: Apache-2.0
/**
 * The objects whose last write by this process got no answer. What a cache shows of them may be older than that write, and than what
 * others did after it. Only a read that begins afterwards ends the doubt: a watch may still bring what happened before the write.
 */
import type { KubeObject } from '../api/objects.ts';
import type { ObjectKey } from './key.ts';

export interface Doubts {
  readonly size: number;
  has(key: ObjectKey): boolean;
  keys(): Iterable<ObjectKey>;
  add(key: ObjectKey, object: KubeObject): void;
  /** What `end` needs: a write that fails during the read leaves the object in doubt. */
  begin(key: ObjectKey): Doubt | undefined;
  end(key: ObjectKey, doubt: Doubt): void;
  /** The object is not shown any more. */
  deleted(key: ObjectKey, object: KubeObject): void;
}

export interface Doubt {
  readonly uid: string | undefined;
}

export function createDoubts(): Doubts {
  const doubts = new Map<ObjectKey, Doubt>();
  return {
    get size() {
      return doubts.size;
    },
    has: (key) => doubts.has(key),
    keys: () => doubts.keys(),
    add: (key, { metadata }) => void doubts.set(key, { uid: metadata?.uid }),
    begin: (key) => doubts.get(key),
    end: (key, doubt) => {
      if (doubts.get(key) === doubt) doubts.delete(key);
    },
    deleted: (key, { metadata }) => {
      if (doubts.get(key)?.uid === metadata?.uid) doubts.delete(key);
    },
  };
}
