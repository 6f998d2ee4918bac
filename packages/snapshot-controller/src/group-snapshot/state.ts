// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeGroupSnapshot loop: binds a group to its content, makes that content and the members if the group is dynamic, keeps the
 * status of the group, and deletes. Rows G1 to G18 and X1 to X9 of the page.
 *
 * Not here: what a member does once it exists (`snapshot/`), finalizers of contents that others made (`content/`).
 */
import type {
  Answer,
  Attempt,
  EventRecorder,
  LoopTypes,
  Node,
  ObjectKey,
  PersistentVolume,
  PersistentVolumeClaim,
  RecordedEvent,
} from '@csi-sidecars/runtime';
import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { Conclusion, SaveError } from '../conclusions.ts';
import type { Confirm, Confirmation } from '../confirm.ts';
import type { OperationName, Operations } from '../operations.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import type { Source } from '../source-volume.ts';
import type { ContentFacts } from '../status.ts';
import type { Member } from './members.ts';

export interface GroupLoop extends LoopTypes {
  readonly key: ObjectKey;
  /** With the indexes of `watched.ts`. */
  readonly watched: {
    readonly groups: VolumeGroupSnapshot;
    readonly groupContents: VolumeGroupSnapshotContent;
    readonly classes: VolumeGroupSnapshotClass;
    readonly snapshots: VolumeSnapshot;
    readonly contents: VolumeSnapshotContent;
    readonly claims: PersistentVolumeClaim;
    readonly volumes: PersistentVolume;
    readonly nodes: Node;
  };
  readonly state: GroupState;
  readonly action: Action;
}

/** The same for every group of the process. */
export interface GroupContext {
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
  readonly operations: Operations;
}

export interface GroupState extends Observed, Learned {}

export interface Observed {
  /** Undefined: it is gone. */
  readonly group: VolumeGroupSnapshot | undefined;
  readonly classes: readonly VolumeGroupSnapshotClass[];
  /** Under the name where the group has to find it, whether or not it is bound to it. */
  readonly content: VolumeGroupSnapshotContent | undefined;
  /** With distributed snapshotting, before the group has a content: those that may be responsible for it. */
  readonly nodes: readonly Node[];
  /** Members that have to be made, or are not complete. */
  readonly incomplete: readonly Member[];
  /** Snapshots that the group owns. */
  readonly owned: readonly VolumeSnapshot[];
  /** Those of them that a pending claim is to be filled from. */
  readonly beingRestored: readonly ObjectKey[];
}

export interface Learned extends Confirmation {
  readonly isBegun: boolean;
  /** The claims that the group selects, with their volumes. */
  readonly sources: Answer<readonly Source[]>;
  readonly contentAsked: Answer<VolumeGroupSnapshotContent | undefined>;
  readonly restoresListed: Attempt;
  readonly created: Attempt;
  readonly bound: Attempt;
  readonly membersSaved: Attempt;
  readonly statusSaved: Attempt;
  readonly errorSaved: Attempt;
  readonly contentMarked: Attempt;
  readonly contentDeleted: Attempt;
  readonly membersDeleted: Attempt;
  readonly finalizersRemoved: Attempt;
}

export const nothingLearned: Learned = {
  isBegun: false,
  sources: 'unasked',
  contentAsked: 'unasked',
  prepared: 'untried',
  confirmed: 'untried',
  restoresListed: 'untried',
  created: 'untried',
  bound: 'untried',
  membersSaved: 'untried',
  statusSaved: 'untried',
  errorSaved: 'untried',
  contentMarked: 'untried',
  contentDeleted: 'untried',
  membersDeleted: 'untried',
  finalizersRemoved: 'untried',
};

export type Action = { readonly row: string } &
  /** Memory only: the metrics count from here. */
  (
    | { readonly kind: 'begin'; readonly operations: readonly OperationName[]; readonly driver: string }
    | { readonly kind: 'listClaims'; readonly group: VolumeGroupSnapshot }
    /** The finalizer and the default class in one write. */
    | { readonly kind: 'prepare'; readonly group: VolumeGroupSnapshot; readonly className: string | undefined }
    | {
        readonly kind: 'createContent';
        readonly group: VolumeGroupSnapshot;
        readonly content: VolumeGroupSnapshotContent;
        /** What may keep a csi-snapshotter from serving it. */
        readonly warning?: RecordedEvent | undefined;
      }
    | { readonly kind: 'bind'; readonly group: VolumeGroupSnapshot; readonly content: VolumeGroupSnapshotContent }
    | { readonly kind: 'saveMembers'; readonly members: readonly Member[] }
    | {
        readonly kind: 'saveStatus';
        readonly group: VolumeGroupSnapshot;
        readonly content: VolumeGroupSnapshotContent;
        readonly facts: ContentFacts;
      }
    | { readonly kind: 'askContent'; readonly name: string }
    | { readonly kind: 'listRestores'; readonly group: VolumeGroupSnapshot }
    | {
        readonly kind: 'markContent';
        readonly group: VolumeGroupSnapshot;
        readonly content: VolumeGroupSnapshotContent;
      }
    | {
        readonly kind: 'deleteContent';
        readonly group: VolumeGroupSnapshot;
        readonly content: VolumeGroupSnapshotContent;
      }
    | {
        readonly kind: 'deleteMembers';
        readonly group: VolumeGroupSnapshot;
        readonly members: readonly VolumeSnapshot[];
      }
    | { readonly kind: 'removeFinalizer'; readonly group: VolumeGroupSnapshot }
    | Confirm<VolumeGroupSnapshot>
    | SaveError<VolumeGroupSnapshot>
    | Conclusion
  );
