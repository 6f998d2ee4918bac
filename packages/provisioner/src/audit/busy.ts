// SPDX-License-Identifier: Apache-2.0
/** Counts the calls to the driver that are under way, so that the audit can let them go first. */
import type { CsiChannel } from '@csi-sidecars/csi';

export interface CountedChannel {
  readonly channel: CsiChannel;
  readonly underWay: () => number;
}

export function countCalls({ call, lost, close }: CsiChannel): CountedChannel {
  let underWay = 0;
  return {
    channel: {
      call: async (method, request, options) => {
        underWay += 1;
        try {
          return await call(method, request, options);
        } finally {
          underWay -= 1;
        }
      },
      lost,
      close,
    },
    underWay: () => underWay,
  };
}
