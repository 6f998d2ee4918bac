// SPDX-License-Identifier: Apache-2.0
/**
 * The segment loop: keeps the topology segments of the driver up to date for the capacity loop, and wakes the items of segments that
 * appear or vanish. Rows G1 and G2 of the page on topology and capacity.
 *
 * Not here: the objects of the segments (`capacity/`). With `--node-deployment` there is one fixed segment (`topology/own-node.ts`) and no such loop.
 */
import type {
  CSINode,
  CSIStorageCapacity,
  LoopTypes,
  Node,
  Outcome,
  StorageClass,
  WakeUps,
} from '@csi-sidecars/runtime';
import type { CapacityTarget, ItemKey } from '../capacity/items.ts';
import type { SegmentId, SegmentMemory, Segments } from '../topology/segments.ts';

/** The only key of the queue, as upstream's. */
export type SegmentsKey = '';
export const segmentsKey: SegmentsKey = '';

export interface SegmentLoop extends LoopTypes {
  readonly key: SegmentsKey;
  readonly watched: {
    readonly nodes: Node;
    readonly csiNodes: CSINode;
    /** These two are read only to find the items to wake. */
    readonly classes: StorageClass;
    readonly objects: CSIStorageCapacity;
  };
  readonly state: SegmentState;
  readonly action: Action;
}

export interface SegmentDeps {
  readonly target: CapacityTarget;
  readonly segments: SegmentMemory;
  readonly items: WakeUps<ItemKey>;
}

export interface SegmentState {
  /** Undefined before the first pass. */
  readonly known: Segments | undefined;
  readonly found: Segments;
  readonly isPublished: boolean;
}

export type Action =
  | {
      readonly row: 'G2';
      readonly kind: 'publish';
      readonly segments: Segments;
      /** `all` after the first pass. */
      readonly changed: 'all' | ReadonlySet<SegmentId>;
    }
  | Conclusion;

export interface Conclusion {
  readonly row: 'G1' | 'G2';
  readonly kind: 'conclude';
  readonly outcome: Outcome;
}
