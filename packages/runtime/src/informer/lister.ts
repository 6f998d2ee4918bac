// SPDX-License-Identifier: Apache-2.0
/** The read side of a cache: the objects of the store, each replaced by the answer to an own write that is newer. */
import type { KubeObject } from '../api/objects.ts';
import type { Logger } from '../log/logger.ts';
import type { Lister, ObjectKey } from './informer.ts';
import type { Written } from './own-writes.ts';
import type { Store } from './store.ts';

/** The index that `list(namespace)` uses, see `byNamespace`. */
export const namespaceIndex = 'namespace';

export interface View<T extends KubeObject> {
  store(): Store<T>;
  pending(): ReadonlyMap<ObjectKey, Written<T>>;
  resourceVersion(): string;
}

export function createLister<T extends KubeObject>(view: View<T>, logger: Logger): Lister<T> {
  let warned = false;

  /** `stored`, with what is pending in place of its older state where `belongs` says so. */
  const merged = (stored: Iterable<readonly [ObjectKey, T]>, belongs: (object: T) => boolean): readonly T[] => {
    const pending = view.pending();
    const objects: T[] = [];
    for (const [key, object] of stored) if (!pending.has(key)) objects.push(object);
    for (const { object } of pending.values()) if (object !== undefined && belongs(object)) objects.push(object);
    return objects;
  };

  const byIndex = (index: string, value: string): readonly T[] => {
    const store = view.store();
    return merged(entriesOf(store, store.keysOf(index, value)), (object) => store.valuesOf(index, object).includes(value));
  };

  const byScan = (namespace: string): readonly T[] => {
    if (!warned) {
      warned = true;
      logger.warn('Listing by namespace without an index reads the whole cache', { namespace });
    }
    return merged(view.store().objects, () => true).filter((object) => object.metadata?.namespace === namespace);
  };

  return {
    get(key) {
      const written = view.pending().get(key);
      return written === undefined ? view.store().objects.get(key) : written.object;
    },
    list(namespace = '') {
      if (namespace === '') return merged(view.store().objects, () => true);
      return view.store().hasIndex(namespaceIndex) ? byIndex(namespaceIndex, namespace) : byScan(namespace);
    },
    byIndex,
    get size() {
      const { objects } = view.store();
      let size = objects.size;
      for (const [key, { object }] of view.pending()) size += Number(object !== undefined) - Number(objects.has(key));
      return size;
    },
    get resourceVersion() {
      return view.resourceVersion();
    },
  };
}

function* entriesOf<T extends KubeObject>(store: Store<T>, keys: Iterable<ObjectKey>): Generator<readonly [ObjectKey, T]> {
  for (const key of keys) {
    const object = store.objects.get(key);
    if (object !== undefined) yield [key, object];
  }
}
