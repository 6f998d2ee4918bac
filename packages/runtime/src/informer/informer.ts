// SPDX-License-Identifier: Apache-2.0
/**
 * What controllers see of an informer: a read side (lister) and change notifications. Delivery guarantees are rows
 * 7.3.1 to 7.3.10 of docs/behaviour/runtime.md: the store is updated before a handler is called, handlers are
 * synchronous, called in stream order, and only look at the object and enqueue a key.
 */
import type { ListPage } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Doubts } from './doubts.ts';
import type { ObjectKey } from './key.ts';

export interface Lister<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  /** Every object, or those of one namespace. Order undefined. */
  list(namespace?: string): readonly T[];
  /** Throws when no index of that name exists: a typo is a defect. */
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
  /** The last resourceVersion applied (object, bookmark or replace); empty before the first sync. */
  readonly resourceVersion: string;
}

/** index name -> function that yields the values an object is found under. */
export type Indexers<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

export interface Handler<T extends KubeObject> {
  readonly add?: (object: T, context: { readonly isInInitialList: boolean }) => void;
  readonly update?: (previous: T, current: T) => void;
  readonly delete?: (deletion: Deletion<T>) => void;
}

/** `observed` is false when the deletion was inferred from a relist (a tombstone); `object` is then the last known one. */
export interface Deletion<T> {
  readonly key: ObjectKey;
  readonly object: T;
  readonly observed: boolean;
  /** What the cache held; undefined if it held nothing. */
  readonly stored: T | undefined;
}

export interface HandlerRegistration {
  /** True once the informer synced and every initial add reached this handler. */
  readonly hasSynced: boolean;
  remove(): void;
}

/** How far an informer has come, for a message that it has not synced. */
export interface SyncProgress {
  /** `websites.example.com`, or `NAMESPACE/websites.example.com`. */
  readonly collection: string;
  /** Grows with each object of a list that arrives. Undefined: another informer has to sync first. */
  readonly received: number | undefined;
  /** Why a list or a watch has failed last; undefined if none has. */
  readonly failure: unknown;
}

export interface Informer<T extends KubeObject> {
  readonly lister: Lister<T>;
  readonly hasSynced: boolean;
  readonly progress?: SyncProgress;
  addHandler(handler: Handler<T>, options?: { readonly resyncMs?: number }): HandlerRegistration;
  /** Throws `indexer conflict` for a name that exists. Existing objects are indexed. */
  addIndexers(indexers: Indexers<T>): void;
  /** Resolves true once synced, handlers included; false when the signal aborts first. */
  whenSynced(signal: AbortSignal): Promise<boolean>;
  /**
   * Remembers the answer of an own write so that `lister` never shows an older state than what this process wrote: until the
   * watch has caught up, the object is deleted, or 60 s have passed. An answer that shows the object at its end (being
   * deleted, without finalizers) hides it. Handlers hear of the write from the watch only. The object has to be one that the
   * informer's selectors match.
   */
  remember(object: T): void;
  /**
   * A write of this process to the object got no answer, so it may have happened, and what `lister` shows of the object may be older. The
   * object is in doubt until `confirm` has read it. Loops do that at the beginning of a run that looks at it. Use `writeObject`.
   * `notFound`: it is gone, and is in doubt only if `lister` still shows it.
   */
  doubt(object: T, answer?: 'notFound'): void;
  /** The objects in doubt. Usually none. */
  readonly doubted: Pick<Doubts, 'size' | 'has' | 'keys'>;
  /**
   * Lists an object that is in doubt, remembers it, and ends the doubt. An empty list: it is gone, and what the watch brings of it up to the
   * version of the list is not shown. Rejects as `read` does, and the doubt stays.
   */
  confirm(key: ObjectKey, read: () => Promise<Pick<ListPage<T>, 'items' | 'resourceVersion'>>): Promise<void>;
  /** Lists and watches until the signal aborts; resolves when nothing of it is left running. */
  run(signal: AbortSignal): Promise<void>;
}
