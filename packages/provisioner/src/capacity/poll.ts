// SPDX-License-Identifier: Apache-2.0
/** Asks the driver for every item again, once in each interval: nothing reports that storage was used or freed elsewhere. */
import { definePeriodicLoop, type Loop, type StorageClass, type Trigger } from '@csi-sidecars/runtime';
import type { SegmentSource } from '../topology/segments.ts';
import type { WatchedForCapacity } from '../watched.ts';
import { type CapacityTarget, type ItemKey, wantedItems } from './items.ts';

export interface PollDeps {
  readonly target: CapacityTarget;
  readonly segments: SegmentSource;
  readonly items: Trigger<ItemKey>;
  readonly intervalMs: number;
}

export function pollLoop(
  { target, segments, items, intervalMs }: PollDeps,
  { classes }: Pick<WatchedForCapacity, 'classes'>,
): Loop {
  return definePeriodicLoop<{ readonly classes: StorageClass }>({
    name: 'csistoragecapacity-poll',
    watches: { classes },
    pauseMs: intervalMs,
    // The first pass over the nodes, or the first list of classes, has just woken every item.
    begin: 'afterPause',
    pass: async ({ caches }) => {
      for (const key of wantedItems(segments.current(), caches.classes.list(), target)) items.wake(key);
    },
    failed: 'Polling storage capacity failed',
  });
}
