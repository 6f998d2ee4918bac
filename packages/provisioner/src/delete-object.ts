// SPDX-License-Identifier: Apache-2.0
/** The deletion of an object that a cache shows. */
import {
  type ApiClient,
  type CallOptions,
  definedOnly,
  ignoreNotFound,
  type KubeObject,
  type Resource,
  writeObject,
  type WrittenCache,
} from '@csi-sidecars/runtime';

export interface DeleteDeps<T extends KubeObject> {
  readonly client: Pick<ApiClient, 'delete'>;
  readonly cache: WrittenCache<T>;
}

/** On condition of the UID: an object that was created again under the name is another one. Undefined: it is gone. */
export function deleteObject<T extends KubeObject>(
  { client, cache }: DeleteDeps<T>,
  { resource, object }: { readonly resource: Resource<T>; readonly object: T },
  options: CallOptions = {},
): Promise<T | undefined> {
  const { namespace, name = '', uid } = object.metadata ?? {};
  const ref = { ...definedOnly({ namespace }), name };
  const preconditions = definedOnly({ uid });
  return writeObject(cache, object, () =>
    client.delete(resource, ref, { ...options, preconditions }).catch(ignoreNotFound),
  );
}
