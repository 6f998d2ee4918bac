// SPDX-License-Identifier: Apache-2.0
/**
 * What a csi-provisioner, ours or upstream's, has left in the API once it no longer runs: `csi-sidecars leftovers`. It is not called orphaned:
 * most of it still has an owner, and the garbage collector takes none of it. One `Subject` is one finalizer, annotation or object; `decide`
 * says of each whether it may be removed. Rows U1 to U15 of the provisioner's page.
 *
 * `list.ts` reads the cluster, `observe.ts` finds the subjects, `remove.ts` removes. Not here: attachments and snapshot contents, whose
 * programs put nothing on objects that upstream's do not remove.
 */
import type {
  CSINode,
  CSIStorageCapacity,
  KubeObject,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
} from '@csi-sidecars/runtime';
import type { VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/volume';

/** The objects that matter, from one pass over the cluster. */
export interface Cluster {
  readonly snapshots: readonly VolumeSnapshot[];
  readonly contents: readonly VolumeSnapshotContent[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly nodes: readonly Node[];
  readonly csiNodes: readonly CSINode[];
  readonly capacities: readonly CSIStorageCapacity[];
}

export interface LeftoverOptions {
  /** Undefined: every driver. */
  readonly driver: string | undefined;
  readonly volumeNamePrefix: string;
  /** Undefined: the whole UID. */
  readonly volumeNameUuidLength: number | undefined;
}

interface Found {
  readonly object: KubeObject;
  /** Empty: not known. */
  readonly driver: string;
  readonly presence: 'live' | 'deleted';
}

/** A provisioning finalizer on a claim. */
export interface ClaimFinalizer extends Found {
  readonly kind: 'claimFinalizer';
  readonly finalizer: string;
  /** The name of the volume that may exist. */
  readonly volumeName: string;
  /** Whether a PersistentVolume records the volume of this claim. One that is being deleted or belongs to another claim does not. */
  readonly record: 'none' | 'recorded';
  /** The node whose instance settles the claim. */
  readonly node: SettlingNode | undefined;
  /** `bound`: the claim names its volume. */
  readonly binding: 'open' | 'bound';
}

export interface SettlingNode {
  readonly name: string;
  readonly presence: 'there' | 'gone';
  /** Whether it is the selected node of the claim. */
  readonly selected: 'yes' | 'no';
}

/** The annotation that names a node, on a claim that has no provisioning finalizer. */
export interface ClaimAnnotation extends Found {
  readonly kind: 'claimAnnotation';
  readonly annotation: string;
}

/** A protection finalizer on a claim or a snapshot that volumes are made from. */
export interface SourceFinalizer extends Found {
  readonly kind: 'sourceFinalizer';
  readonly source: 'claim' | 'snapshot';
  readonly finalizer: string;
  /** Namespace and name of a claim that may still be made from it. */
  readonly neededBy: string | undefined;
}

/** The finalizer of a PersistentVolume. */
export interface VolumeFinalizer extends Found {
  readonly kind: 'volumeFinalizer';
  readonly finalizer: string;
  readonly policy: 'Delete' | 'Retain' | 'Recycle';
  readonly phase: string | undefined;
  /** How the driver calls the volume. */
  readonly handle: string;
  /** Whether any node can reach it. */
  readonly reachable: 'yes' | 'no';
}

/** A CSIStorageCapacity. */
export interface Capacity extends Found {
  readonly kind: 'capacity';
  /** Objects with an owner are removed with it. */
  readonly owner: 'none' | 'some';
  /** The instance that manages it: of the whole cluster, or of a node. */
  readonly instance: 'central' | 'ofNode' | 'ofGoneNode' | 'foreign';
  /** Whether a node has the driver. */
  readonly installed: 'yes' | 'no';
}

export type Subject = ClaimFinalizer | ClaimAnnotation | SourceFinalizer | VolumeFinalizer | Capacity;

export type Row = `U${number}`;

/**
 * `safe`: removing it loses nothing. `unsettled`: a volume may exist that nothing else records. `manual`: something else has to happen
 * first. `inUse`: it is no leftover.
 */
export type Verdict = 'safe' | 'unsettled' | 'manual' | 'inUse';

export interface Decision {
  readonly row: Row;
  readonly verdict: Verdict;
  readonly reason: string;
  /** The volume that may be lost, by the name or the handle that the storage system knows. */
  readonly volume?: string;
}

export interface Leftover {
  readonly subject: Subject;
  readonly decision: Decision;
}
