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
  const guard = <Args extends readonly unknown[], Result>(
    write: (...args: Args) => Promise<Result>,
  ): ((...args: Args) => Promise<Result>) => {
    return (...args) =>
      isClosed ? Promise.reject(new TransportError('aborted', 'not sent: the controller was cut off')) : write(...args);
  };
  return {
    client: {
      ...client,
      create: guard(client.create) as ApiClient['create'],
      update: guard(client.update) as ApiClient['update'],
      patch: guard(client.patch) as ApiClient['patch'],
      delete: guard(client.delete) as ApiClient['delete'],
    },
    close: () => {
      isClosed = true;
    },
  };
}
