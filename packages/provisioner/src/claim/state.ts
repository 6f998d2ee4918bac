// SPDX-License-Identifier: Apache-2.0
/** The types of the claim loop: what a run observes, what it knows by its own steps, and how it ends. */
import type { CsiChannel, DriverInfo } from '@csi-sidecars/csi';
import type {
  Conclusion as AnyConclusion,
  CSINode,
  EventRecorder,
  LoopTypes,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  RecordedEvent,
  Run,
  StorageClass,
  Trigger,
} from '@csi-sidecars/runtime';
import type { Result } from '@csi-sidecars/volume';
import type { CapacityChange, CapacityChanges } from '../capacity/change.ts';
import type { ProvisionerMetrics } from '../metrics.ts';
import type { Ownership } from '../ownership.ts';
import type { ClaimMemory, ClaimRecord, UnsavedKey } from './memory.ts';
import type { ProvisionerSettings } from '../settings.ts';
import type { DataSource } from '../source/data-source.ts';
import type { ReferenceGrant } from '../source/grants.ts';
import type { SourceReferences } from '../source/references.ts';
import type { SourceRead } from '../source/source-answer.ts';
import type { ClusterTopology } from '../topology/requirement.ts';
import type { SnapshotPlaces } from '../topology/snapshot-places.ts';
import type { ClaimUid } from './claim.ts';
import type { Answer, Deletion, DeletionAge } from './deletion.ts';
import type { InstanceWaits } from './instance-waits.ts';
import type { CreateOutcome } from './outcome.ts';
import type { PlanAnswer, Shape } from './plan.ts';
import type { Write } from './update-claim.ts';

export interface ClaimLoop extends LoopTypes {
  readonly key: ClaimUid;
  readonly watched: {
    /** With the index `uid`. */
    readonly claims: PersistentVolumeClaim;
    readonly volumes: PersistentVolume;
    readonly classes: StorageClass;
    /** These two are not watched without topology. */
    readonly nodes: Node;
    readonly csiNodes: CSINode;
    /** With the index `namespace`. Not watched without the feature CrossNamespaceVolumeDataSource. */
    readonly grants: ReferenceGrant;
  };
  readonly observed: Observed;
  readonly conclusion: Concluded;
  readonly context: ClaimDeps;
}

export type ClaimRun = Run<ClaimLoop>;

/** Data that is the same for every claim of the process, as far as decisions need it. */
export interface ClaimContext {
  readonly driver: DriverInfo;
  readonly settings: ProvisionerSettings;
  readonly supportsTopology: boolean;
  /** In node deployment: the cluster as it is planned for. */
  readonly ownTopology?: ClusterTopology;
}

/** Further ports and settings for the steps. */
export interface ClaimDeps extends ClaimContext {
  readonly channel: CsiChannel;
  readonly events: EventRecorder;
  /** The recorder with the driver side's component name. */
  readonly driverEvents: EventRecorder;
  readonly metrics: ProvisionerMetrics;
  readonly memory: ClaimMemory;
  readonly references: SourceReferences;
  /** The waits of node deployment. */
  readonly ownership: Ownership;
  readonly instanceWaits: InstanceWaits;
  /** Alpha: the waits before another node is asked for again because a snapshot cannot be used on the selected one. */
  readonly reschedules: Ownership;
  /** Hands a PersistentVolume that could not be saved to the save loop. */
  readonly saves: Trigger<UnsavedKey>;
  /** Called when the save loop returns a claim. */
  readonly claims: Trigger<ClaimUid>;
  /** Learns of the conclusions. */
  readonly capacity: CapacityChanges;
}

export interface Observed {
  readonly claim: PersistentVolumeClaim;
  readonly presence: 'live' | 'deleting' | 'gone';
  /** The claim has this driver's provisioning finalizer, and this instance settles it. */
  readonly isProtected: boolean;
  /** In node deployment: the node whose instance settles the claim, if that is another one. Empty: no instance is known. */
  readonly otherInstance: string | undefined;
  /** In node deployment: the rest of the wait before this instance takes the claim; undefined if no wait has begun. */
  readonly waitMs: number | undefined;
  /** In node deployment: the class permits volumes on this node. */
  readonly isAllowedHere: (storageClass: StorageClass) => boolean;
  readonly memory: ClaimRecord | { readonly kind: 'none' };
  /** Undefined if the claim is live and its volume is not recorded for another node. */
  readonly deletion: (Deletion & DeletionAge) | undefined;
  readonly storageClass: StorageClass | undefined;
  /**
   * The PersistentVolume under our name for this claim: none, its own, its own that is being deleted before the claim is bound to it, one that
   * this node cannot reach, or that of another claim.
   */
  readonly volume:
    | { readonly kind: 'none' | 'own' }
    | { readonly kind: 'losing'; readonly record: PersistentVolume }
    | { readonly kind: 'elsewhere'; readonly record: PersistentVolume }
    | { readonly kind: 'taken'; readonly name: string; readonly owner: string };
  /** The name of the volume and of the PersistentVolume; empty if it cannot be formed. */
  readonly volumeName: string;
  /** How long the InvalidArgument of the class still holds; 0 means not at all. */
  readonly infeasibleForMs: number;
  readonly dataSource: DataSource;
  /** The part of the plan that is checked before the source is read. */
  readonly shape: (storageClass: StorageClass) => Result<Shape>;
  /** The request as the caches have it now. Not for a claim without a class. */
  readonly plan: (storageClass: StorageClass, purpose: PlanPurpose, snapshot?: SnapshotPlaces) => PlanAnswer;
}

/** Settling needs no particular node: only the answer matters. */
export type PlanPurpose = 'provision' | 'settle';

/** What a run knows of its claim: what it has observed, as its own steps change it. */
export interface Known extends Observed {
  claim: PersistentVolumeClaim;
  presence: Observed['presence'];
  isProtected: boolean;
  memory: Observed['memory'];
  deletion: Observed['deletion'];
  volume: Observed['volume'];
  /** The finalizer is put on at most once in a run. */
  protecting?: Write;
  /** In node deployment: the PersistentVolume of the claim was looked for in the API server. */
  isRecordRead?: true;
  /** The claim was read because its PersistentVolume is being deleted. */
  isClaimRead?: true;
  source?: SourceRead;
  /** The source got our finalizer in this run. */
  isSourceProtected?: true;
  created?: CreateOutcome;
}

/** What a step has changed. */
export type Changes = Partial<Known>;

/** Row ids of the claim table. They are stable names: a new row gets a new number, whatever its position in the table. */
export type Row = `C${number}`;

export interface Conclusion extends AnyConclusion {
  readonly row: Row;
  readonly events: readonly RecordedEvent[];
  /** Recorded under the driver side's component name. */
  readonly driverEvents: readonly RecordedEvent[];
  /** How the attempt counts in the metrics. */
  readonly counts: 'success' | 'failure' | 'no';
  /** Counted when the claim is being deleted while a volume may exist. */
  readonly answer?: Answer;
  /** The claim was given up while a volume may exist. */
  readonly givenUp?: 'yes';
}

/** The end of a run. */
export interface Concluded extends Conclusion {
  readonly known: Readonly<Known>;
  /** What the attempt says about the capacity of the driver. */
  readonly capacity: CapacityChange;
}
