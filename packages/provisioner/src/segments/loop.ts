// SPDX-License-Identifier: Apache-2.0
/**
 * The segment loop: keeps the topology segments of the driver up to date for the capacity loop, and wakes the items of segments that
 * appear or vanish. Rows G1 and G2 of the page on topology and capacity.
 *
 * Not here: the objects of the segments (`capacity/`). With `--node-deployment` there is one fixed segment (`topology/own-node.ts`) and no such loop.
 */
import {
  conclude,
  type Conclusion,
  type CSINode,
  type CSIStorageCapacity,
  defineLoop,
  done,
  type Flow,
  type Loop,
  type LoopSettings,
  type LoopTypes,
  type Node,
  perform,
  type Run,
  type StorageClass,
  toObjectKey,
  type Trigger,
} from '@csi-sidecars/runtime';
import { driverOn } from '@csi-sidecars/volume';
import { type CapacityTarget, countingClasses, itemKeyOf, type ItemKey } from '../capacity/items.ts';
import { itemOfObject } from '../capacity/object.ts';
import { registeredKeys } from '../topology/node-terms.ts';
import {
  type SegmentId,
  segmentIdOf,
  type SegmentMemory,
  segmentOf,
  type Segments,
  segmentsOf,
} from '../topology/segments.ts';
import type { WatchedForCapacity } from '../watched.ts';

interface SegmentLoop extends LoopTypes {
  /** The only key of the queue, as upstream's. */
  readonly key: '';
  readonly watched: {
    readonly nodes: Node;
    readonly csiNodes: CSINode;
    /** These two are read only to find the items to wake. */
    readonly classes: StorageClass;
    readonly objects: CSIStorageCapacity;
  };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: SegmentDeps;
}

const segmentsKey = '';

interface Observed {
  /** Undefined before the first pass. */
  readonly known: Segments | undefined;
  readonly found: Segments;
}

export interface SegmentDeps {
  readonly target: CapacityTarget;
  readonly segments: SegmentMemory;
  readonly items: Trigger<ItemKey>;
}

export function segmentLoop(deps: SegmentDeps, watched: WatchedForCapacity, settings: LoopSettings): Loop {
  const { target, segments } = deps;
  const { nodes, csiNodes, classes, objects } = watched;
  const { driverName } = target;
  return defineLoop<SegmentLoop>({
    name: 'csitopology',
    settings,
    watches: { nodes, csiNodes, classes, objects },
    handlers: {
      nodes: ({ previous, current }, caches) => {
        const name = (current ?? previous)?.metadata?.name ?? '';
        const csiNode = caches.csiNodes.get(toObjectKey(undefined, name));
        const [before, after] = [previous, current].map((node) => {
          const term = segmentOf(csiNode, node, driverName);
          return term && segmentIdOf(term);
        });
        return before === after ? undefined : segmentsKey;
      },
      csiNodes: ({ previous, current }) =>
        registration(previous, driverName) === registration(current, driverName) ? undefined : segmentsKey,
    },
    // A cluster without nodes has segments too: none.
    sources: [(wake) => wake(segmentsKey)],
    observe: (caches) => ({
      known: segments.current(),
      found: segmentsOf(
        { csiNodes: () => caches.csiNodes.list(), node: (name) => caches.nodes.get(toObjectKey(undefined, name)) },
        driverName,
      ),
    }),
    context: deps,
    flow: follow,
    workers: 1,
  });
}

export function* follow({ known, found }: Observed): Flow<Conclusion> {
  const changed = known === undefined ? 'all' : differing(known, found);
  if (changed !== 'all' && changed.size === 0) return conclude('G1', done);
  yield* perform('G2', publish, found, changed);
  return conclude('G2', done);
}

/** Those of one side only. */
function differing(known: Segments, found: Segments): ReadonlySet<SegmentId> {
  const removed = [...known.keys()].filter((id) => !found.has(id));
  const added = [...found.keys()].filter((id) => !known.has(id));
  return new Set([...removed, ...added]);
}

/** Into memory, and the items of the segments that changed are woken. `all`: after the first pass. */
function publish(
  { caches: { classes, objects }, logger, context: { target, segments, items } }: Run<SegmentLoop>,
  found: Segments,
  changed: 'all' | ReadonlySet<SegmentId>,
): void {
  segments.replace(found);
  const ids = [...(changed === 'all' ? found.keys() : changed)];
  logger.info(3, 'Topology changed', { segments: found.size, changed: ids.length });
  const keys = new Set<ItemKey>();
  for (const { metadata } of countingClasses(classes.list(), target)) {
    for (const id of ids) keys.add(itemKeyOf(metadata?.name ?? '', id));
  }
  // Objects of items that were never wanted. Later ones are woken when they appear.
  if (changed === 'all') for (const object of objects.list()) keys.add(itemOfObject(object));
  for (const key of keys) items.wake(key);
}

/** Equal for equal lists of keys. Undefined: the driver is not on the node, which differs from a driver without keys. */
function registration(csiNode: CSINode | undefined, driverName: string): string | undefined {
  if (csiNode === undefined || driverOn(csiNode, driverName) === undefined) return undefined;
  return registeredKeys(csiNode, driverName).join(',');
}
