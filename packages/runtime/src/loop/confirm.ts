// SPDX-License-Identifier: Apache-2.0
/**
 * Before a run: what it would look at is read from the API server as far as it is in doubt, see `Informer.doubt`. So neither a write nor
 * the decision that nothing is to be written follows from a copy that may be older than a write of this process.
 *
 * The objects are found by observing: those that are read by key, and all of a cache that is listed or asked by index, because a
 * write in doubt may have changed what a list or an index shows.
 */
import type { ApiClient } from '../api/client.ts';
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import type { Informer } from '../informer/informer.ts';
import { type ObjectKey, splitKey } from '../informer/key.ts';
import type { Cache } from './loop.ts';
import type { Watching } from './watch.ts';

export interface ConfirmDeps extends Pick<Watching, 'informers' | 'resources'> {
  readonly client: Pick<ApiClient, 'list'>;
  readonly caches: Readonly<Record<string, Cache<KubeObject>>>;
}

export function hasDoubts({ informers }: Pick<Watching, 'informers'>): boolean {
  return informers.values().some(({ doubted }) => doubted.size > 0);
}

/** Rejects if one of the objects cannot be read. */
export async function confirm(
  deps: ConfirmDeps,
  observe: (caches: Readonly<Record<string, Cache<KubeObject>>>) => unknown,
  signal: AbortSignal,
): Promise<void> {
  // What has been read may lead to other objects.
  for (;;) {
    const seen: Seen[] = [];
    observe(watched(deps, (object) => seen.push(object)));
    if (seen.length === 0) return;
    for (const { name, key } of seen) {
      const informer = deps.informers.get(name) as Informer<KubeObject>;
      const resource = deps.resources.get(name) as Resource;
      const { namespace, name: object } = splitKey(key);
      // Listed by name, as `findObject` does, because the version of the list counts.
      const selection = { namespace, fieldSelector: `metadata.name=${object}` };
      await informer.confirm(key, () => deps.client.list(resource, selection, { signal }));
    }
  }
}

interface Seen {
  readonly name: string;
  readonly key: ObjectKey;
}

/** The caches, and a report of every object in doubt that is looked at. */
function watched({ informers, caches }: ConfirmDeps, onDoubt: (seen: Seen) => void): ConfirmDeps['caches'] {
  const watchedOf = ([name, cache]: [string, Cache<KubeObject>]): [string, Cache<KubeObject>] => {
    const doubted = informers.get(name)?.doubted;
    if (doubted === undefined) return [name, cache];
    const all = (): void => {
      for (const key of doubted.keys()) onDoubt({ name, key });
    };
    return [
      name,
      {
        ...cache,
        get: (key) => {
          if (doubted.has(key)) onDoubt({ name, key });
          return cache.get(key);
        },
        list: (namespace) => {
          all();
          return cache.list(namespace);
        },
        byIndex: (index, value) => {
          all();
          return cache.byIndex(index, value);
        },
      },
    ];
  };
  return Object.fromEntries(Object.entries(caches).map(watchedOf));
}
