// SPDX-License-Identifier: Apache-2.0
/** The read side of a cache: the objects of the store, each replaced by the answer to an own write that is newer. */
import type { KubeObject } from '../api/objects.ts';
import type { Logger } from '../log/logger.ts';
import type { Content } from './content.ts';
import type { Lister } from './informer.ts';
import { keyOf } from './key.ts';
import type { MutationCache } from './mutation-cache.ts';

/** The index that `list(namespace)` uses, see `byNamespace`. */
const namespaceIndex = 'namespace';

export interface ListerDeps<T extends KubeObject> {
  readonly content: Pick<Content<T>, 'store' | 'resourceVersion'>;
  readonly mutations: Pick<MutationCache<T>, 'pending' | 'byIndex'>;
  readonly logger: Logger;
}

export function createLister<T extends KubeObject>({ content, mutations, logger }: ListerDeps<T>): Lister<T> {
  let warned = false;

  const all = (): readonly T[] => {
    const stored = content.store().objects;
    const pending = mutations.pending();
    if (pending.size === 0) return [...stored];
    const objects = [...stored].filter((object) => !pending.has(keyOf(object)));
    for (const written of pending.values()) {
      const object = written.object();
      if (object !== undefined) objects.push(object);
    }
    return objects;
  };

  const byIndex = (index: string, value: string): readonly T[] => {
    const store = content.store();
    const found = store.keysOf(index, value);
    const written = mutations.byIndex(store, index, value);
    const pending = mutations.pending();
    const stored = [...found].filter((key) => !pending.has(key));
    return [...stored.map((key) => store.objects.get(key)!), ...written];
  };

  const byScan = (namespace: string): readonly T[] => {
    if (!warned) {
      warned = true;
      logger.warn('Listing by namespace without the index `namespace` reads the whole cache', { namespace });
    }
    return all().filter((object) => object.metadata?.namespace === namespace);
  };

  return {
    get(key) {
      const written = mutations.pending().get(key);
      return written === undefined ? content.store().objects.get(key) : written.object();
    },
    list(namespace = '') {
      if (namespace === '') return all();
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
