// SPDX-License-Identifier: Apache-2.0
/** What is compared: the list of a driver, and what the cluster records. Times are milliseconds since the epoch, on the clock of the API server. */
import type { ListFacts } from '@csi-sidecars/csi';
import type { ClaimName } from './finding.ts';
import type { Entries } from './handle-map.ts';

/** Entries by their handles. */
export interface DriverList<E> extends ListFacts {
  readonly entries: Entries<E>;
  /** Handles that were listed again with other facts. */
  readonly contradicted: ReadonlySet<string>;
}

export interface ListedVolume {
  /** 0: the driver does not say. Beyond 2^53 not exact. */
  readonly capacityBytes: number;
  /** Ids of nodes; undefined: the driver does not say. */
  readonly publishedNodeIds: readonly string[] | undefined;
}

export interface ListedSnapshot {
  /** Empty: the driver does not say. */
  readonly sourceId: string;
  readonly createdMs: number | undefined;
}

/** A PersistentVolume of the driver. */
export interface RecordedVolume {
  readonly name: string;
  /** As the driver lists it: translated for a volume of an in-tree plugin. */
  readonly handle: string;
  /** False: the handle has gaps, and only its last part is known. Nothing is concluded but that the cluster has such a volume. */
  readonly isExact: boolean;
  readonly createdMs: number;
  readonly capacityBytes: number | undefined;
  /** A provisioner made it, and not a person. */
  readonly isProvisioned: boolean;
  /** Also if it is released to be deleted: its volume goes before it does. */
  readonly isBeingDeleted: boolean;
  /** Released with the policy Delete since then; undefined: it is not, or since when is not known. */
  readonly releasedMs: number | undefined;
  readonly claim: ClaimName | undefined;
  readonly isResizing: boolean;
  /** Its node affinity excludes the node whose driver was asked. */
  readonly isElsewhere: boolean;
}

/** Work that may have a call open about a volume or snapshot that no object names yet. */
export type OpenWork =
  | { readonly kind: 'none' }
  /** `what` begins a sentence: `claim shop/data is pending`. */
  | { readonly kind: 'open'; readonly what: string }
  /** What would say so could not be read. */
  | { readonly kind: 'unknown' };

export interface RecordedAttachment {
  readonly name: string;
  readonly handle: string;
  readonly nodeName: string;
  /** Undefined: the driver is not registered on the node, and the attachment does not say. */
  readonly nodeId: string | undefined;
  readonly createdMs: number;
  /** Its status says attached, and it is not being deleted. */
  readonly isAttached: boolean;
}

/** A VolumeSnapshotContent of the driver. */
export interface RecordedSnapshot {
  readonly name: string;
  readonly handle: string;
  readonly createdMs: number;
  readonly isReady: boolean;
}

/** What the driver answered when it was asked about one handle. */
export type Answer = 'exists' | 'notFound';

export interface Rules {
  readonly graceMs: number;
  /** Volumes whose handle does not begin with it are of others. Empty: all are ours. */
  readonly handlePrefix: string;
}

/** Differences of the list before, which this list confirms. */
export type Earlier = ReadonlySet<string>;
