// SPDX-License-Identifier: Apache-2.0
import type { ApiClient, CallOptions } from './client.ts';

/** A client whose writes are made with the options that `change` makes of theirs. Reads are as before. */
export function withWriteOptions(
  client: ApiClient,
  change: <O extends CallOptions>(options: O | undefined) => O | CallOptions,
): ApiClient {
  return {
    ...client,
    create: (resource, object, options) => client.create(resource, object, change(options)),
    update: (resource, object, options) => client.update(resource, object, change(options)),
    patch: (target, patch, options) => client.patch(target, patch, change(options)),
    delete: (resource, ref, options) => client.delete(resource, ref, change(options)),
  };
}
