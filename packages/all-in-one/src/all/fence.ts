// SPDX-License-Identifier: Apache-2.0
/**
 * A client whose writes can be stopped at once: a controller without its lease, or without its driver, may finish nothing. Where a program
 * has a process of its own, the process ends at that moment.
 */
import type { ApiClient } from '@csi-sidecars/runtime';
import { fenced } from '@csi-sidecars/runtime/internal';

export interface Fence {
  readonly client: ApiClient;
  /** From here on no write is sent. */
  close(): void;
}

export function createFence(client: ApiClient): Fence {
  let isClosed = false;
  return {
    client: fenced(client, () => !isClosed),
    close: () => {
      isClosed = true;
    },
  };
}
