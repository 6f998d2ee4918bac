// SPDX-License-Identifier: Apache-2.0
/**
 * A client whose writes can be stopped at once: a controller without its lease, or without its driver, may finish nothing. Where a program
 * has a process of its own, the process ends at that moment.
 */
import { type ApiClient, TransportError } from '@csi-sidecars/runtime';

export interface Fence {
  readonly client: ApiClient;
  /** From here on no write is sent. */
  close(): void;
}

export function fenced(client: ApiClient): Fence {
  let isClosed = false;
  const unlessClosed = <T>(write: () => Promise<T>): Promise<T> =>
    isClosed ? Promise.reject(new TransportError('aborted', 'not sent: the controller was cut off')) : write();
  return {
    client: {
      ...client,
      create: (resource, object, options) => unlessClosed(() => client.create(resource, object, options)),
      update: (resource, object, options) => unlessClosed(() => client.update(resource, object, options)),
      patch: (target, patch, options) => unlessClosed(() => client.patch(target, patch, options)),
      delete: (resource, ref, options) => unlessClosed(() => client.delete(resource, ref, options)),
    },
    close: () => {
      isClosed = true;
    },
  };
}
