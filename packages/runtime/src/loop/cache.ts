// SPDX-License-Identifier: Apache-2.0
/** The part of an informer that a loop uses. */
import type { KubeObject } from '../api/objects.ts';
import type { Informer } from '../informer/informer.ts';
import type { Cache } from './loop.ts';

export function cacheOf<T extends KubeObject>(informer: Pick<Informer<T>, 'lister' | 'remember' | 'doubt'>): Cache<T> {
  const { lister } = informer;
  return {
    get: (key) => lister.get(key),
    list: (namespace) => lister.list(namespace),
    byIndex: (index, value) => lister.byIndex(index, value),
    get size() {
      return lister.size;
    },
    get resourceVersion() {
      return lister.resourceVersion;
    },
    remember: (object) => informer.remember(object),
    doubt: (object, answer) => informer.doubt(object, answer),
  };
}

/** The empty cache of objects that are not watched in this configuration. */
export const emptyCache: Cache<never> = {
  get: () => undefined,
  list: () => [],
  byIndex: () => [],
  size: 0,
  resourceVersion: '',
  remember: () => undefined,
  doubt: () => undefined,
};
