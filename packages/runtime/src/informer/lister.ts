// SPDX-License-Identifier: Apache-2.0
/** The read side of a cache: the objects of the store, each replaced by the answer to an own write that is newer. */
import type { KubeObject } from '../api/objects.ts';
import type { Logger } from '../log/logger.ts';
import type { Content } from './content.ts';
import type { Lister } from './informer.ts';
import { keyOf, type ObjectKey } from './key.ts';
import type { MutationCache } from './mutation-cache.ts';
import type { Store } from './store.ts';

/** The index that `list(namespace)` uses, see `byNamespace`. */
const namespaceIndex = 'namespace';

export interface ListerDeps<T extends KubeObject> {
  readonly content: Pick<Content<T>, 'store' | 'resourceVersion'>;
  readonly mutations: Pick<MutationCache<T>, 'pending'>;
  readonly logger: Logger;
}

export function createLister<T extends KubeObject>({ content, mutations, logger }: ListerDeps<T>): Lister<T> {
  let warned = false;

  /** The stored objects. Pending own writes replace their older state where `belongs` accepts them. */
  const merged = (stored: Iterable<T>, belongs: (object: T) => boolean): readonly T[] => {
    const pending = mutations.pending();
    if (pending.size === 0) return [...stored];
    const objects: T[] = [];
    for (const object of stored) if (!pending.has(keyOf(object))) objects.push(object);
    for (const written of pending.values()) {
      const object = written.object();
      if (object !== undefined && belongs(object)) objects.push(object);
    }
    return objects;
  };

  /** The index values of pending own writes. Each read of an index looks at all of these writes, and under load there are hundreds. */
  const valuesOf = new WeakMap<T, Map<string, readonly string[]>>();
  const indexed = (store: Store<T>, index: string, object: T): readonly string[] => {
    const known = valuesOf.get(object) ?? new Map<string, readonly string[]>();
    valuesOf.set(object, known);
    const values = known.get(index) ?? store.valuesOf(index, object);
    known.set(index, values);
    return values;
  };

  const byIndex = (index: string, value: string): readonly T[] => {
    const store = content.store();
    return merged(objectsOf(store, store.keysOf(index, value)), (object) =>
      indexed(store, index, object).includes(value),
    );
  };

  const byScan = (namespace: string): readonly T[] => {
    if (!warned) {
      warned = true;
      logger.warn('Listing by namespace without the index `namespace` reads the whole cache', { namespace });
    }
    return merged(content.store().objects, () => true).filter((object) => object.metadata?.namespace === namespace);
  };

  return {
    get(key) {
      const written = mutations.pending().get(key);
      return written === undefined ? content.store().objects.get(key) : written.object();
    },
    list(namespace = '') {
      if (namespace === '') return merged(content.store().objects, () => true);
      return content.store().hasIndex(namespaceIndex) ? byIndex(namespaceIndex, namespace) : byScan(namespace);
    },
    byIndex,
    get size() {
      const { objects } = content.store();
      let size = objects.size;
      for (const [key, { object }] of mutations.pending())
        size += Number(object() !== undefined) - Number(objects.get(key) !== undefined);
      return size;
    },
    get resourceVersion() {
      return content.resourceVersion();
    },
  };
}

function* objectsOf<T extends KubeObject>(store: Store<T>, keys: Iterable<ObjectKey>): Generator<T> {
  for (const key of keys) {
    const object = store.objects.get(key);
    if (object !== undefined) yield object;
  }
}
