// SPDX-License-Identifier: Apache-2.0
import type { DryWorld, KnownObjects } from '../src/dry-run/world.ts';
import type { ListPage, ListQuery } from '../src/api/client.ts';
import { ApiError } from '../src/api/errors.ts';
import type { KubeObject } from '../src/api/objects.ts';
import type { Resource } from '../src/api/resource.ts';
import { FakeClock } from './fake-clock.ts';
import { seededRandom } from './seeded-random.ts';

/**
 * A cluster with these objects and no others, for dry runs. Every kind is served. `hidden` objects are found by reading, and are in no
 * cache.
 */
export function aDryWorld(objects: readonly KnownObjects[], hidden: readonly KnownObjects[] = []): DryWorld {
  const stored = <T extends KubeObject>({ plural }: Resource<T>): readonly T[] =>
    [...objects, ...hidden]
      .filter(({ resource }) => resource.plural === plural)
      .flatMap((known) => known.objects as readonly T[]);
  return {
    objects,
    clock: new FakeClock(),
    random: seededRandom(1),
    read: {
      get: async (resource, { namespace, name }) => {
        const found = stored(resource).find(
          ({ metadata }) => metadata?.name === name && metadata.namespace === namespace,
        );
        if (found !== undefined) return found;
        throw new ApiError({ status: 404, reason: 'NotFound', message: `${resource.plural} "${name}" not found` });
      },
      list: async <T extends KubeObject>(resource: Resource<T>, { namespace, fieldSelector }: ListQuery = {}) => {
        const name = fieldSelector?.replace('metadata.name=', '');
        const items = stored(resource).filter(
          ({ metadata }) =>
            (namespace === undefined || metadata?.namespace === namespace) &&
            (name === undefined || metadata?.name === name),
        );
        return { items, resourceVersion: '1' } satisfies ListPage<T>;
      },
      raw: async () => {
        throw new ApiError({ status: 503, message: 'discovery is away' });
      },
    },
  };
}
