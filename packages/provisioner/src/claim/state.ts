// SPDX-License-Identifier: Apache-2.0
/**
 * The claim loop: from a claim that waits for a volume of this driver to a saved PersistentVolume. No claim is forgotten
 * while a volume may exist for it. Rows C1 to C64 of the provisioner's page.
 *
 * One run is: observe, then decide, perform, learn, until a conclusion. Data from the caches and from memory is at
 * the top of the state, results of this run are below. The order of writes follows from `decide` alone.
 *
 * Not here: saving a PersistentVolume that could not be saved at once (`saving/`), deleting volumes (`volume/`), the rules for sources of
 * data (`source/`).
 */
import type { CreateVolumeRequestInput, CsiChannel, DriverInfo, GetCapacityRequestInput } from '@csi-sidecars/csi';
import type {
  CSINode,
  EventRecorder,
  LoopTypes,
  Node,
  Outcome,
  PersistentVolume,
  PersistentVolumeClaim,
  RecordedEvent,
  StorageClass,
  WakeUps,
} from '@csi-sidecars/runtime';
import type { Result, SecretReference } from '@csi-sidecars/volume';
import type { CapacityChange, CapacityChanges } from '../capacity/change.ts';
import type { ProvisionerMetrics } from '../metrics.ts';
import type { SaveOutcome } from '../saving/outcome.ts';
import type { UnsavedKey } from '../saving/state.ts';
import type { SecretValues } from '../secret-values.ts';
import type { ProvisionerSettings } from '../settings.ts';
import type { DataSource } from '../source/data-source.ts';
import type { ReferenceGrant } from '../source/grants.ts';
import type { SourceHolds } from '../source/holds.ts';
import type { SourceRef } from '../source/source.ts';
import type { SourceRead } from './source-reads.ts';
import type { Answer, Deletion, DeletionAge } from './deletion.ts';
import type { ClaimUid } from './claim.ts';
import type { ClusterTopology } from '../topology/requirement.ts';
import type { InstanceWaits } from './instance-waits.ts';
import type { ClaimMemory, Entry, Pinned } from './memory.ts';
import type { Ownership } from '../ownership.ts';
import type { CreateOutcome, Unusable } from './outcome.ts';
import type { PlanAnswer, Shape } from './plan.ts';
import type { Selection } from './update-claim.ts';

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
  readonly state: ClaimState;
  readonly action: Action;
}

/** Data that is the same for every claim of the process, as far as decisions need it. */
export interface ClaimContext {
  readonly driver: DriverInfo;
  readonly settings: ProvisionerSettings;
  readonly supportsTopology: boolean;
  /** In node deployment: the cluster as it is planned for. */
  readonly ownTopology?: ClusterTopology;
}

/** Further ports and settings for the effects. */
export interface ClaimDeps extends ClaimContext {
  readonly channel: CsiChannel;
  readonly events: EventRecorder;
  /** The recorder with the driver side's component name. */
  readonly driverEvents: EventRecorder;
  readonly metrics: ProvisionerMetrics;
  readonly memory: ClaimMemory;
  readonly holds: SourceHolds;
  /** Undefined unless in node deployment. */
  readonly ownership: Ownership | undefined;
  readonly instanceWaits: InstanceWaits;
  /** Hands a PersistentVolume that could not be saved to the save loop. */
  readonly saves: WakeUps<UnsavedKey>;
  /** Called when the save loop returns a claim. */
  readonly claims: WakeUps<ClaimUid>;
  /** Learns of the conclusions. */
  readonly capacity: CapacityChanges;
}

export interface ClaimState extends Observed, Learned {}

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
  readonly memory: Entry | { readonly kind: 'none' };
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
  /** The request as the caches have it now, the same for the whole run. Not for a claim without a class. */
  readonly plan: (storageClass: StorageClass, purpose: PlanPurpose) => PlanAnswer;
}

/** Settling needs no particular node: only the answer matters. */
export type PlanPurpose = 'provision' | 'settle';

export interface Learned {
  readonly announced: 'no' | 'yes';
  readonly source: SourceRead;
  readonly protectingSource: SourceWrite;
  readonly secrets: SecretRead;
  readonly attributes: AttributesRead;
  readonly protecting: Write;
  readonly unprotecting: Write;
  readonly rescheduling: Write;
  readonly givingUp: Write;
  /** In node deployment: the Node of the other instance, the space on this node, and the attempt to take the claim. */
  readonly otherNode: 'unread' | OtherNode;
  readonly space: 'unknown' | 'enough' | 'short' | { readonly failure: string };
  readonly selecting: 'untried' | Selection;
  /** In node deployment: whether the PersistentVolume of the claim was looked for in the API server. */
  readonly record: 'unread' | 'read' | { readonly failure: string };
  /** Whether the claim was read because its PersistentVolume is being deleted. */
  readonly reread: 'unread' | 'read' | { readonly failure: Error };
  readonly created: CreateOutcome | undefined;
  readonly cleanedUp: 'no' | 'yes' | { readonly failure: string; readonly isOpen: boolean };
  readonly saved: SaveOutcome | undefined;
}

export interface OtherNode {
  readonly presence: 'there' | 'gone' | 'unknown';
  /** How long it has been gone without a break, as far as this process looked. */
  readonly goneForMs: number;
  /** How long this process has seen the deleted claim wait for the instance. */
  readonly waitedForMs: number;
}

export type SecretRead = { readonly kind: 'unread' } | SecretValues;

export type AttributesRead =
  | { readonly kind: 'unread' }
  | { readonly kind: 'found'; readonly driverName: string; readonly parameters: Readonly<Record<string, string>> }
  | { readonly kind: 'failed'; readonly message: string };

export type SourceWrite = 'untried' | 'done' | { readonly failure: string };

/** An update of the claim. `refused` would fail again; `failed` may succeed when repeated. */
export type Write = 'untried' | 'done' | 'refused' | 'failed';

export const nothingLearned: Learned = {
  announced: 'no',
  source: { kind: 'unread' },
  protectingSource: 'untried',
  secrets: { kind: 'unread' },
  attributes: { kind: 'unread' },
  protecting: 'untried',
  unprotecting: 'untried',
  rescheduling: 'untried',
  givingUp: 'untried',
  otherNode: 'unread',
  space: 'unknown',
  selecting: 'untried',
  record: 'unread',
  reread: 'unread',
  created: undefined,
  cleanedUp: 'no',
  saved: undefined,
};

/** Row ids of the claim table. They are stable names: a new row gets a new number, whatever its position in the table. */
export type Row = `C${number}`;

export type Step =
  | { readonly kind: 'announce' }
  | { readonly kind: 'readSource'; readonly ref: SourceRef }
  /** The content of a snapshot, or the PersistentVolume of a claim. */
  | { readonly kind: 'readBacking'; readonly name: string }
  /** Adds our finalizer to the source. */
  | { readonly kind: 'protectSource' }
  | { readonly kind: 'readSecret'; readonly reference: SecretReference }
  | { readonly kind: 'readAttributesClass'; readonly name: string }
  /** Adds the provisioning finalizer. */
  | { readonly kind: 'protect' }
  /** Removes the finalizer: nothing is outstanding any more. */
  | { readonly kind: 'unprotect' }
  | { readonly kind: 'reschedule'; readonly protection: 'keep' | 'remove' }
  /** Memory only: nothing is outstanding any more. `refusedBy`: UID of the class that the driver refused. */
  | { readonly kind: 'settle'; readonly refusedBy?: string }
  /** Memory only: a volume may exist, and the next request is planned from the caches. */
  | { readonly kind: 'releaseRequest' }
  | {
      readonly kind: 'createVolume';
      readonly pinned: Pinned;
      readonly request: CreateVolumeRequestInput;
      /** No earlier CreateVolume of this claim can have made a volume. */
      readonly isFirst: boolean;
    }
  | { readonly kind: 'cleanUp'; readonly volume: Unusable; readonly secrets: Readonly<Record<string, string>> }
  | { readonly kind: 'save'; readonly volume: PersistentVolume }
  /** Removes the finalizer although a volume may exist. */
  | { readonly kind: 'giveUp'; readonly answer: Answer }
  /** The same for a claim that the instance of a node that is gone was to settle. */
  | { readonly kind: 'giveUpOther' }
  | { readonly kind: 'readNode'; readonly name: string }
  /** The PersistentVolume of the claim, made by any instance: those of other nodes are not cached. */
  | { readonly kind: 'readRecord'; readonly name: string }
  /** The PV controller may be about to bind the claim, or may have done so. */
  | { readonly kind: 'readClaim'; readonly record: PersistentVolume }
  /** Memory only: the wait before this instance takes the claim. */
  | { readonly kind: 'startWait' }
  /** Enough space for so many bytes in one of these places? */
  | { readonly kind: 'checkSpace'; readonly requests: readonly GetCapacityRequestInput[]; readonly bytes: bigint }
  /** Takes the claim for this node. */
  | { readonly kind: 'selectNode'; readonly node: string };

export interface Ending {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
  readonly events: readonly RecordedEvent[];
  /** Recorded under the driver side's component name. */
  readonly driverEvents: readonly RecordedEvent[];
  /** How the attempt counts in the metrics. */
  readonly counts: 'success' | 'failure' | 'no';
  /** Counted when the claim is being deleted while a volume may exist. */
  readonly answer?: Answer;
  /** The claim was given up while a volume may exist. */
  readonly givenUp?: 'yes';
  /** What the attempt says about the capacity of the driver. `decide` adds it to every conclusion. */
  readonly capacity?: CapacityChange;
}

export type Conclusion = { readonly row: Row } & Ending;
export type Action = { readonly row: Row } & (Step | Ending);
