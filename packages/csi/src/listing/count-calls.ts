// SPDX-License-Identifier: Apache-2.0
/** Counts the calls to the driver that are under way, so that a list, which can wait, lets them go first. */
import type { Clock } from '@csi-sidecars/runtime';
import type { CsiChannel } from '../channel/channel.ts';

export interface CountedChannel {
  readonly channel: CsiChannel;
  readonly underWay: () => number;
}

export function countCalls(channel: CsiChannel): CountedChannel {
  let underWay = 0;
  return {
    channel: {
      call: async (method, request, options) => {
        underWay += 1;
        try {
          return await channel.call(method, request, options);
        } finally {
          underWay -= 1;
        }
      },
      lost: channel.lost,
      close: () => channel.close(),
    },
    underWay: () => underWay,
  };
}

export interface BusyOptions {
  readonly underWay: () => number;
  readonly workers: number;
}

const pauseMs = 5_000;
const mostMs = 10 * 60_000;

/** Waits while more than half of the workers have a call under way, for at most ten minutes in all its calls together. */
export function whenQuiet(
  clock: Pick<Clock, 'sleep'>,
  { underWay, workers }: BusyOptions,
): (signal: AbortSignal) => Promise<void> {
  let waitedMs = 0;
  return async (signal) => {
    while (underWay() * 2 > workers && waitedMs < mostMs) {
      waitedMs += pauseMs;
      await clock.sleep(pauseMs, signal);
    }
  };
}
