// SPDX-License-Identifier: Apache-2.0
/** The capacity loop: its watches, and the changes that wake it. */
import {
  type Caches,
  type Change,
  type Conclusion,
  type CSIStorageCapacity,
  defineLoop,
  type Loop,
  type LoopSettings,
  type LoopTypes,
  type StorageClass,
  toObjectKey,
} from '@csi-sidecars/runtime';
import type { Segments, SegmentSource } from '../topology/segments.ts';
import type { WatchedForCapacity } from '../watched.ts';
import { publish } from './flow.ts';
import { type CapacityDeps, type CapacityWatched, look, type Observed } from './steps.ts';
import { type CapacityTarget, counts, type ItemKey, itemsOf, splitItem } from './items.ts';
import { itemOfObject } from './object.ts';

interface CapacityLoop extends LoopTypes {
  readonly key: ItemKey;
  readonly watched: CapacityWatched;
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: CapacityDeps;
}

export function capacityLoop(
  deps: CapacityDeps,
  { classes, objects }: WatchedForCapacity,
  settings: LoopSettings,
): Loop {
  const { target, segments, items } = deps;
  return defineLoop<CapacityLoop>({
    name: 'csistoragecapacity',
    settings,
    watches: { classes, objects },
    handlers: {
      classes: (change, caches) => (matters(change, target) ? itemsOfClass(change, segments, caches) : undefined),
      objects: (change, caches) => {
        const known = segments.current();
        return known && wokenBy(change, caches, { target, known });
      },
    },
    sources: [items.source],
    observe: (caches, key) => look({ context: deps, caches, key }),
    context: deps,
    flow: (observed) => publish(observed, deps.management),
    retryMessage: 'Retrying syncing storage capacity',
  });
}

/** Whether other objects are wanted. A class with another provisioner, binding mode or other parameters is another class of the name. */
function matters({ previous, current }: Change<StorageClass>, target: CapacityTarget): boolean {
  const doesCount = (storageClass: StorageClass | undefined): boolean =>
    storageClass !== undefined && counts(storageClass, target);
  return doesCount(previous) !== doesCount(current);
}

/** Undefined before the first pass over the nodes, which wakes every item: the driver would be asked twice. */
function itemsOfClass(
  { previous, current }: Change<StorageClass>,
  segments: SegmentSource,
  { objects }: Caches<CapacityLoop>,
): readonly ItemKey[] | undefined {
  const known = segments.current();
  if (known === undefined) return undefined;
  const name = (current ?? previous)?.metadata?.name ?? '';
  return [...itemsOf(known.keys(), [name]), ...objects.byIndex('class', name).map(itemOfObject)];
}

interface Wanting {
  readonly target: CapacityTarget;
  readonly known: Segments;
}

/**
 * The last object of an item is gone, or an object is not the only one or not wanted. An own write wakes nothing: what it says was
 * reported a moment ago.
 */
function wokenBy(
  { previous, current }: Change<CSIStorageCapacity>,
  caches: Caches<CapacityLoop>,
  wanting: Wanting,
): ItemKey | undefined {
  const object = current ?? previous;
  if (object === undefined || (previous !== undefined && current !== undefined)) return undefined;
  const key = itemOfObject(object);
  const others = caches.objects.byIndex('item', key).length;
  if (current === undefined) return others === 0 ? key : undefined;
  return others > 1 || !isWanted(key, caches, wanting) ? key : undefined;
}

function isWanted(key: ItemKey, { classes }: Caches<CapacityLoop>, { target, known }: Wanting): boolean {
  const { className, segment } = splitItem(key);
  const storageClass = classes.get(toObjectKey(undefined, className));
  return storageClass !== undefined && counts(storageClass, target) && known.has(segment);
}
