// SPDX-License-Identifier: Apache-2.0
/**
 * The counterpart of etcd: objects under keys, one global revision, and a log of changes per collection that watches read with
 * a cursor. Everything is synchronous, so one request is one atomic step.
 *
 * Not here: names, uids, validation, finalizers. A stored object is never edited; a write replaces it.
 */
import type { ObjectMeta } from '../../src/api/objects.ts';

export type StoredMeta = ObjectMeta & {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly creationTimestamp: string;
};

export interface StoredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: StoredMeta;
  readonly [field: string]: unknown;
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** After the change; for DELETED the last state with the revision of the deletion. */
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

export interface Store {
  readonly revision: () => number;
  readonly collection: (id: string) => Collection;
  /** Forgets the history: watches and lists from an older revision get 410. */
  readonly compact: () => void;
  /**
   * Remembers everything as it is. The returned function brings it back as `etcdutl snapshot restore --bump-revision --mark-compacted` does:
   * the objects are those of the backup, the revision is a new one, and the history is forgotten.
   */
  readonly backup: () => () => void;
}

export interface Collection {
  readonly get: (key: string) => StoredObject | undefined;
  /** By key. At a past revision when given; undefined when that one is compacted. */
  readonly list: (revision?: number) => readonly StoredObject[] | undefined;
  readonly put: (key: string, object: StoredObject) => StoredObject;
  readonly remove: (key: string) => StoredObject;
  /** Index of the first change after `revision`; undefined when compacted. */
  readonly seek: (revision: number) => number | undefined;
  /** The change at an index; undefined when it has not happened yet; 'compacted' when it is forgotten. */
  readonly change: (index: number) => Change | 'compacted' | undefined;
  readonly oldestRevision: () => number;
  /** Forgets this collection's history. */
  readonly compact: () => void;
  readonly backup: () => () => void;
  /** Calls `wake` after each change, until disposed. */
  readonly subscribe: (wake: () => void) => Disposable;
}

export interface StoreOptions {
  /** Changes remembered per collection; the older half is forgotten beyond it. Default 20,000. */
  readonly historyLimit?: number;
}

export function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

export function createStore(options: StoreOptions = {}): Store {
  const historyLimit = options.historyLimit ?? 20_000;
  const collections = new Map<string, Collection>();
  // A fresh etcd is at 1, and 0 means "any" in requests.
  let revision = 1;

  function createCollection(): Collection {
    const objects = new Map<string, StoredObject>();
    /** By key; undefined after a change. */
    let sorted: readonly StoredObject[] | undefined;
    const watchers = new Set<() => void>();
    let log: Change[] = [];
    let forgotten = 0;
    let compactedAt = 0;

    function forget(keep: number): void {
      const dropped = log.slice(0, Math.max(0, log.length - keep));
      forgotten += dropped.length;
      log = log.slice(dropped.length);
      compactedAt = keep === 0 ? revision : (dropped.at(-1)?.revision ?? compactedAt);
    }
    function commit(change: Change): void {
      sorted = undefined;
      log.push(change);
      if (log.length > historyLimit) forget(Math.floor(historyLimit / 2));
      for (const wake of watchers) wake();
    }
    function stamped(object: StoredObject): StoredObject {
      revision += 1;
      return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
    }
    function past(to: number): Map<string, StoredObject> {
      const view = new Map(objects);
      for (const change of log.toReversed()) {
        if (change.revision <= to) break;
        const key = keyOf(change.object.metadata.namespace, change.object.metadata.name);
        if (change.previous === undefined) view.delete(key);
        else view.set(key, change.previous);
      }
      return view;
    }

    return {
      compact: () => forget(0),
      get: (key) => objects.get(key),
      list(at) {
        if (at !== undefined && at < compactedAt) return undefined;
        if (at !== undefined && at < revision) return byKey(past(at));
        return (sorted ??= byKey(objects));
      },
      put(key, object) {
        const previous = objects.get(key);
        const next = stamped(object);
        objects.set(key, next);
        commit({ type: previous === undefined ? 'ADDED' : 'MODIFIED', revision, object: next, previous });
        return next;
      },
      remove(key) {
        const previous = objects.get(key);
        if (previous === undefined) throw new Error(`nothing is stored under ${key}`);
        objects.delete(key);
        const last = stamped(previous);
        commit({ type: 'DELETED', revision, object: last, previous });
        return last;
      },
      seek(from) {
        if (from < compactedAt) return undefined;
        const found = log.findIndex((change) => change.revision > from);
        return forgotten + (found === -1 ? log.length : found);
      },
      change(index) {
        if (index < forgotten) return 'compacted';
        return log[index - forgotten];
      },
      oldestRevision: () => compactedAt,
      backup() {
        const saved = [...objects];
        return () => {
          objects.clear();
          for (const [key, object] of saved) objects.set(key, object);
          sorted = undefined;
          forget(0);
        };
      },
      subscribe(wake) {
        watchers.add(wake);
        return { [Symbol.dispose]: () => void watchers.delete(wake) };
      },
    };
  }

  return {
    revision: () => revision,
    collection(id) {
      let found = collections.get(id);
      if (found === undefined) {
        found = createCollection();
        collections.set(id, found);
      }
      return found;
    },
    compact() {
      for (const collection of collections.values()) collection.compact();
    },
    backup() {
      const saved = new Map([...collections].map(([id, collection]) => [id, collection.backup()]));
      return () => {
        revision += 1_000_000;
        for (const id of collections.keys()) {
          const restore = saved.get(id);
          if (restore === undefined) collections.delete(id);
          else restore();
        }
      };
    },
  };
}

function byKey(objects: ReadonlyMap<string, StoredObject>): readonly StoredObject[] {
  return [...objects].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}
