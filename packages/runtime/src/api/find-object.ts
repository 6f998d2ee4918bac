// SPDX-License-Identifier: Apache-2.0
/**
 * Reads an object from the API server where the cache is not enough: it leaves the object out, or may be behind.
 *
 * The object is listed by name, not read by name: who watches a kind may list it, and minimal roles do not allow `get`.
 */
import type { ApiClient, ObjectRef } from './client.ts';
import { ApiError } from './errors.ts';
import type { KubeObject } from './objects.ts';
import type { Resource } from './resource.ts';

export interface FindDeps {
  readonly client: Pick<ApiClient, 'list'>;
  readonly signal?: AbortSignal | undefined;
}

/** Undefined if there is none. */
export async function findObject<T extends KubeObject>(
  { client, signal }: FindDeps,
  resource: Resource<T>,
  { namespace, name }: ObjectRef,
): Promise<T | undefined> {
  return (await client.list(resource, { namespace, fieldSelector: `metadata.name=${name}` }, { signal })).items[0];
}

/** Reads by name, for roles that do not allow `get`. */
export function gettingByList(client: Pick<ApiClient, 'list'>): Pick<ApiClient, 'get'> {
  return {
    get: async (resource, ref, { signal } = {}) => {
      const found = await findObject({ client, signal }, resource, ref);
      if (found !== undefined) return found;
      throw new ApiError({ status: 404, reason: 'NotFound', message: `${resource.plural} "${ref.name}" not found` });
    },
  };
}
