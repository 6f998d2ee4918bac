// SPDX-License-Identifier: Apache-2.0
/** From the caches to the state of one item. Synchronous, no network. */
import { type Caches, toObjectKey } from '@csi-sidecars/runtime';
import type { SegmentSource } from '../topology/segments.ts';
import { type CapacityTarget, counts, type ItemKey, splitItem } from './items.ts';
import { byAge } from './object.ts';
import type { CapacityLoop, Observed } from './state.ts';

export interface ObserveDeps {
  readonly target: CapacityTarget;
  readonly segments: SegmentSource;
}

export function observe({ target, segments }: ObserveDeps, caches: Caches<CapacityLoop>, key: ItemKey): Observed {
  const { className, segment } = splitItem(key);
  const known = segments.current();
  const storageClass = caches.classes.get(toObjectKey(undefined, className));
  return {
    className,
    knowsSegments: known !== undefined,
    segment: known?.get(segment),
    storageClass: storageClass !== undefined && counts(storageClass, target) ? storageClass : undefined,
    objects: [...caches.objects.byIndex('item', key)].sort(byAge),
  };
}
