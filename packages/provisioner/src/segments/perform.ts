// SPDX-License-Identifier: Apache-2.0
/** The effect of the segment loop: memory, and wake-ups of the capacity loop. */
import type { Performers } from '@csi-sidecars/runtime';
import { countingClasses, itemKeyOf, type ItemKey } from '../capacity/items.ts';
import { itemOfObject } from '../capacity/object.ts';
import type { SegmentDeps, SegmentLoop } from './state.ts';

export function performers({ target, segments, items }: SegmentDeps): Performers<SegmentLoop> {
  return {
    publish: ({ action, caches: { classes, objects }, logger }) => {
      const { changed } = action;
      segments.replace(action.segments);
      const concerned = changed === 'all' ? action.segments.keys() : changed;
      const ids = [...concerned];
      logger.info(3, 'Topology changed', { segments: action.segments.size, changed: ids.length });
      const keys = new Set<ItemKey>();
      for (const { metadata } of countingClasses(classes.list(), target)) {
        for (const id of ids) keys.add(itemKeyOf(metadata?.name ?? '', id));
      }
      // Objects of items that were never wanted. Later ones are woken when they appear.
      if (changed === 'all') for (const object of objects.list()) keys.add(itemOfObject(object));
      for (const key of keys) items.wake(key);
      return { isPublished: true };
    },
  };
}
