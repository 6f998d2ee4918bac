// SPDX-License-Identifier: Apache-2.0
/**
 * The capacity loop: one CSIStorageCapacity object for each item, with what the driver reports for it, and no other managed objects.
 * Rows K1 to K10 of the page on topology and capacity.
 *
 * Which items exist, and which objects belong to them, follows from the caches alone. Nothing is lost with the process.
 *
 * Not here: the segments of the cluster (`segments/`), the poll (`poll.ts`), what a volume says about capacity (`change.ts`).
 */
import type { CsiChannel, RequestOf } from '@csi-sidecars/csi';
import type {
  Answer,
  ApiClient,
  Attempt,
  CSIStorageCapacity,
  LoopTypes,
  Outcome,
  StorageClass,
  WakeUps,
} from '@csi-sidecars/runtime';
import type { SegmentSource } from '../topology/segments.ts';
import type { Term } from '../topology/terms.ts';
import type { CapacityTarget, ItemKey } from './items.ts';
import type { Management, Reported } from './object.ts';

export interface CapacityLoop extends LoopTypes {
  readonly key: ItemKey;
  readonly watched: {
    readonly classes: StorageClass;
    /** The managed objects, with the indexes `item` and `class`. */
    readonly objects: CSIStorageCapacity;
  };
  readonly state: CapacityState;
  readonly action: Action;
}

export interface CapacityContext {
  readonly target: CapacityTarget;
  readonly management: Management;
}

export interface CapacityDeps extends CapacityContext {
  readonly segments: SegmentSource;
  readonly channel: CsiChannel;
  /** With a rate limit of its own. */
  readonly client: ApiClient;
  readonly timeoutMs: number;
  readonly items: WakeUps<ItemKey>;
}

export interface CapacityState extends Observed, Learned {}

export interface Observed {
  readonly className: string;
  /** Whether a pass over the nodes has ended. */
  readonly knowsSegments: boolean;
  /** Undefined: no node has it. */
  readonly segment: Term | undefined;
  /** Undefined: it does not exist, or does not count. */
  readonly storageClass: StorageClass | undefined;
  /** The managed objects of the item. The first is the one to keep. */
  readonly objects: readonly CSIStorageCapacity[];
}

export interface Learned {
  readonly removed: Attempt;
  readonly reported: Answer<Reported>;
  readonly written: Attempt;
}

export const nothingLearned: Learned = { removed: 'untried', reported: 'unasked', written: 'untried' };

/** Row ids of the capacity table. They are stable names. */
export type Row = `K${number}`;

export type Step =
  | { readonly kind: 'remove'; readonly objects: readonly CSIStorageCapacity[] }
  | { readonly kind: 'ask'; readonly request: RequestOf<'/csi.v1.Controller/GetCapacity'> }
  | { readonly kind: 'create'; readonly object: CSIStorageCapacity }
  | { readonly kind: 'update'; readonly object: CSIStorageCapacity };

export interface Ending {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
}

export type Action = { readonly row: Row } & (Step | Ending);
