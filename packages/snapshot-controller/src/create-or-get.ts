// SPDX-License-Identifier: Apache-2.0
/** An object with a derived name: made, or read if it is there, because an earlier attempt made it or somebody else did. */
import {
  type ApiClient,
  isAlreadyExists,
  type KubeObject,
  type Resource,
  writeObject,
  type WrittenCache,
} from '@csi-sidecars/runtime';

export interface CreateDeps<T extends KubeObject> {
  readonly client: Pick<ApiClient, 'create' | 'get'>;
  readonly cache: WrittenCache<T>;
}

/** The caller has to look whether what it gets is its own. */
export async function createOrGet<T extends KubeObject>(
  { client, cache }: CreateDeps<T>,
  { resource, object }: { readonly resource: Resource<T>; readonly object: T },
  signal: AbortSignal,
): Promise<T> {
  const { namespace, name = '' } = object.metadata ?? {};
  try {
    return await writeObject(cache, object, () => client.create(resource, object, { signal }));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const stored = await client.get(resource, { namespace, name }, { signal });
    cache.remember(stored);
    return stored;
  }
}
