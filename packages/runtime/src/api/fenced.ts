// SPDX-License-Identifier: Apache-2.0
import type { ApiClient, CallOptions } from './client.ts';

/** A client that sends no write any more once `maySend` is false, or what the caller gives is. Reads go on. */
export function fenced(client: ApiClient, maySend: () => boolean): ApiClient {
  const within = <O extends CallOptions>(options: O | undefined) => {
    const given = options?.maySend;
    return { ...options, maySend: given === undefined ? maySend : () => maySend() && given() };
  };
  return {
    ...client,
    create: (resource, object, options) => client.create(resource, object, within(options)),
    update: (resource, object, options) => client.update(resource, object, within(options)),
    patch: (target, patch, options) => client.patch(target, patch, within(options)),
    delete: (resource, ref, options) => client.delete(resource, ref, within(options)),
  };
}
