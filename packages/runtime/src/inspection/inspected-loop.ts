// SPDX-License-Identifier: Apache-2.0
/** A loop as an inspection sees it, and the object that somebody asks about. */
import type { ObjectKey } from '../informer/key.ts';
import type { WorkQueue } from '../workqueue/workqueue.ts';
import type { LastDecisions } from './last-decisions.ts';
import type { RunRecord } from './run-record.ts';

/** The object that somebody asks about. */
export interface Subject {
  /** Of the API: `persistentvolumeclaims`. */
  readonly plural: string;
  readonly by: { readonly key: ObjectKey } | { readonly uid: string };
}

export interface InspectedObject<Key extends string> {
  readonly key: Key;
  readonly uid: string | undefined;
}

/** A loop as an inspection sees it. */
export interface InspectedLoop<Key extends string> {
  /** Of the queue. */
  readonly name: string;
  readonly workers: number;
  readonly queue: Pick<WorkQueue<Key>, 'inspect' | 'state' | 'numRequeues'>;
  readonly caches: readonly InspectedCache[];
  /** The kind that the loop works on; undefined: its keys stand for no objects of a kind. */
  readonly plural: string | undefined;
  /** Undefined: the object is not in the cache. */
  readonly find: (key: ObjectKey) => InspectedObject<Key> | undefined;
  /** Words for what the loop remembers of the key. */
  readonly remembered: (key: Key) => readonly string[];
}

export interface InspectedCache {
  readonly plural: string;
  readonly isSynced: () => boolean;
  /** Its loop does not wait for it. */
  readonly isOptional: boolean;
}

/** With what it has reported. */
export interface Inspected {
  readonly loop: InspectedLoop<string>;
  readonly running: ReadonlyMap<string, RunRecord>;
  readonly last: LastDecisions;
}
