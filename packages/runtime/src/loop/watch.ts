// SPDX-License-Identifier: Apache-2.0
/** The informers and caches of a loop, by the names that the loop gave them. */
import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resource.ts';
import type { InformerOptions } from '../informer/create-informer.ts';
import type { InformerFactory } from '../informer/factory.ts';
import type { Informer } from '../informer/informer.ts';
import { cacheOf, emptyCache } from './cache.ts';
import type { Cache } from './loop.ts';

export interface Watching {
  /** Without those that are not watched in this configuration. */
  readonly informers: ReadonlyMap<string, Informer<KubeObject>>;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly caches: Readonly<Record<string, Cache<KubeObject>>>;
}

/**
 * `watches` is the record of one loop; its types differ from name to name, and the specification of the loop holds them
 * together.
 */
export function watch(factory: InformerFactory, watches: object): Watching {
  const informers = new Map<string, Informer<KubeObject>>();
  const resources = new Map<string, Resource>();
  const caches: Record<string, Cache<KubeObject>> = {};
  for (const [name, options] of Object.entries(watches as Record<string, InformerOptions<KubeObject> | undefined>)) {
    if (options === undefined) {
      caches[name] = emptyCache;
      continue;
    }
    const informer = factory.informer(options);
    informers.set(name, informer);
    resources.set(name, options.resource);
    caches[name] = cacheOf(informer);
  }
  return { informers, resources, caches };
}
