// SPDX-License-Identifier: Apache-2.0
/**
 * What client-go calls a mutation cache: answers to own writes that the watch has not brought yet, so that a lister never shows an older state
 * than what this process wrote. An answer is forgotten when the watch has caught up with it, when the object is deleted, and after 6 minutes in
 * any case, which is longer than a watch can be silent (150 s) and then be put off by the server (150 s).
 */
import type { KubeObject } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import type { ObjectKey } from './key.ts';
import { compareResourceVersions } from './resource-version.ts';
import { createStore, type Store } from './store.ts';

export interface MutationCache<T extends KubeObject> {
  /** Keeps the newer one when an answer for the same key is already there. */
  remember(key: ObjectKey, written: Written<T>): void;
  /** The cache is at this version of the object now, with it or without it. */
  caughtUp(key: ObjectKey, resourceVersion: string): void;
  /**
   * A list has the object, in these versions. `undone`: the server was restored to a state from before the write, which is forgotten. `open`: the
   * write removed the object, and the list is from before that, or from a restored server.
   */
  compare(key: ObjectKey, listed: { readonly list: string; readonly object: string }): 'undone' | 'open' | 'kept';
  /** Unless there has been another one since. */
  forget(key: ObjectKey, written: Written<T>): void;
  deleted(key: ObjectKey, object: KubeObject): void;
  /** The answers that are newer than the cache, by key. Usually empty. */
  pending(): ReadonlyMap<ObjectKey, Written<T>>;
  /** The objects that pending answers show under a value of an index of the store. Each answer is indexed once, by the first read after it. */
  byIndex(store: Store<T>, index: string, value: string): readonly T[];
}

export interface Written<T> {
  /**
   * Undefined if the object must not be shown: a transform filters it out, or the write removed the object. It is called only
   * when the object is read: usually the watch brings the same object a moment later, and it is never called.
   */
  readonly object: () => T | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string;
  /**
   * Until the cache is at that version, or beyond it: the write that removes an object is answered with the version that
   * the object had before.
   */
  readonly until: 'reached' | 'passed';
}

const keptForMs = 360_000;

export function createMutationCache<T extends KubeObject>(clock: Clock): MutationCache<T> {
  /** In the order in which they expire. */
  const entries = new Map<ObjectKey, Written<T> & { readonly expiresAtMs: number }>();
  /** What the entries show, for reads of an index, without those that came since the last such read. */
  let indexed = createStore<T>();
  const unindexed = new Set<ObjectKey>();

  const remove = (key: ObjectKey): void => {
    if (entries.delete(key) && !unindexed.delete(key)) indexed.delete(key);
  };
  const pending = (): ReadonlyMap<ObjectKey, Written<T>> => {
    if (entries.size === 0) return entries;
    const nowMs = clock.monotonicMs();
    for (const [key, { expiresAtMs }] of entries) {
      if (expiresAtMs > nowMs) break;
      remove(key);
    }
    return entries;
  };

  return {
    remember(key, written) {
      const known = entries.get(key);
      if (known !== undefined && isBefore(written, known)) return;
      remove(key);
      unindexed.add(key);
      entries.set(key, { ...written, expiresAtMs: clock.monotonicMs() + keptForMs });
    },
    caughtUp(key, resourceVersion) {
      const known = entries.get(key);
      if (known === undefined || isOlder(resourceVersion, known.resourceVersion)) return;
      if (known.until === 'reached' || resourceVersion !== known.resourceVersion) remove(key);
    },
    compare(key, { list, object }) {
      const known = entries.get(key);
      if (known === undefined || isOlder(list, known.resourceVersion)) return 'kept';
      if (isSurvivor(known, object)) return 'open';
      if (!isOlder(object, known.resourceVersion)) return 'kept';
      remove(key);
      return 'undone';
    },
    forget(key, written) {
      if (entries.get(key) === written) remove(key);
    },
    deleted(key, { metadata }) {
      const known = entries.get(key);
      if (known === undefined) return;
      if (known.uid === metadata?.uid || !isOlder(metadata?.resourceVersion ?? '', known.resourceVersion)) {
        remove(key);
      }
    },
    pending,
    byIndex(store, index, value) {
      const all = pending();
      if (!indexed.hasIndex(index)) {
        indexed = store.emptyCopy();
        for (const key of all.keys()) unindexed.add(key);
      }
      for (const key of unindexed) {
        const object = entries.get(key)!.object();
        // An answer that cannot be shown is forgotten when it is read.
        if (object !== undefined && unindexed.has(key)) indexed.set(key, object);
      }
      unindexed.clear();
      return [...indexed.keysOf(index, value)].map((key) => indexed.objects.get(key)!);
    },
  };
}

/** The object is as it was when the write removed it. */
export function isSurvivor({ until, resourceVersion }: Written<unknown>, version: string | undefined): boolean {
  return until === 'passed' && resourceVersion === version;
}

/** The write that removes an object is answered with the version that the one before it gave it. */
function isBefore(written: Written<unknown>, known: Written<unknown>): boolean {
  const isEnd = known.until === 'passed' && written.until === 'reached';
  const isSame = written.resourceVersion === known.resourceVersion;
  return isOlder(written.resourceVersion, known.resourceVersion) || (isEnd && isSame);
}

/** Versions that cannot be compared do not count as older: the cache is trusted in this case. */
function isOlder(a: string, b: string): boolean {
  return (compareResourceVersions(a, b) ?? 0) < 0;
}
