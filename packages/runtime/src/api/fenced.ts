// SPDX-License-Identifier: Apache-2.0
import type { ApiClient } from './client.ts';

/** A client that sends no write any more once `maySend` is false. Reads go on. */
export function fenced(client: ApiClient, maySend: () => boolean): ApiClient {
  return {
    ...client,
    create: (resource, object, options) => client.create(resource, object, { ...options, maySend }),
    update: (resource, object, options) => client.update(resource, object, { ...options, maySend }),
    patch: (target, patch, options) => client.patch(target, patch, { ...options, maySend }),
    delete: (resource, ref, options) => client.delete(resource, ref, { ...options, maySend }),
  };
}
