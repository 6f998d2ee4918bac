// SPDX-License-Identifier: Apache-2.0
/** The segment loop: its watches, and the changes of nodes that concern the segments. */
import { type CSINode, defineLoop, type Loop, type LoopSettings, toObjectKey } from '@csi-sidecars/runtime';
import { driverOn } from '@csi-sidecars/volume';
import type { WatchedForCapacity } from '../watched.ts';
import { registeredKeys } from '../topology/node-terms.ts';
import { segmentIdOf, segmentOf, segmentsOf } from '../topology/segments.ts';
import { decide } from './decide.ts';
import { performers } from './perform.ts';
import { type SegmentDeps, type SegmentLoop, segmentsKey } from './state.ts';

export function segmentLoop(deps: SegmentDeps, watched: WatchedForCapacity, settings: LoopSettings): Loop {
  const { target, segments } = deps;
  const { nodes, csiNodes, classes, objects } = watched;
  const { driverName } = target;
  return defineLoop<SegmentLoop>({
    name: 'csitopology',
    settings,
    watches: { nodes, csiNodes, classes, objects },
    wakes: {
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
      isPublished: false,
    }),
    decide,
    perform: performers(deps),
    workers: 1,
  });
}

/** Equal for equal lists of keys. Undefined: the driver is not on the node, which differs from a driver without keys. */
function registration(csiNode: CSINode | undefined, driverName: string): string | undefined {
  if (csiNode === undefined || driverOn(csiNode, driverName) === undefined) return undefined;
  return registeredKeys(csiNode, driverName).join(',');
}
