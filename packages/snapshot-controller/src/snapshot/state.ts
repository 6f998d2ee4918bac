// SPDX-License-Identifier: Apache-2.0
/**
 * The VolumeSnapshot loop: binds a snapshot to its content, makes that content if the snapshot is dynamic, keeps the status of the
 * snapshot, protects the claim while a snapshot of it is cut, and deletes. Rows S1 to S21 and D1 to D10 of the page.
 *
 * Not here: finalizers of contents that others made (`content/`), members and deletion of groups (`group-snapshot/`), claims
 * that are left without a snapshot (`claim/`), the driver, which csi-snapshotter calls.
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
} from '@csi-sidecars/runtime';
import type {
  ContentReference,
  VolumeGroupSnapshot,
  VolumeGroupSnapshotContent,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '@csi-sidecars/volume';
import type { Conclusion, SaveError } from '../conclusions.ts';
import type { Confirm, Confirmation } from '../confirm.ts';
import type { OperationName, Operations } from '../operations.ts';
import type { SnapshotControllerSettings } from '../settings.ts';
import type { ContentFacts } from '../status.ts';
import type { ClaimReleases } from './claim-releases.ts';
import type { ClaimTurns } from './claim-turns.ts';

export interface SnapshotLoop extends LoopTypes {
  readonly key: ObjectKey;
  /** With the indexes of `watched.ts`. */
  readonly watched: {
    readonly snapshots: VolumeSnapshot;
    readonly contents: VolumeSnapshotContent;
    readonly classes: VolumeSnapshotClass;
    readonly claims: PersistentVolumeClaim;
    readonly volumes: PersistentVolume;
    readonly nodes: Node;
    readonly groups: VolumeGroupSnapshot;
    readonly groupContents: VolumeGroupSnapshotContent;
  };
  readonly state: SnapshotState;
  readonly action: Action;
}

/** The same for every snapshot of the process. */
export interface SnapshotContext {
  readonly settings: SnapshotControllerSettings;
  readonly events: EventRecorder;
  readonly operations: Operations;
  readonly releases: ClaimReleases;
  readonly claimTurns: ClaimTurns;
}

export interface SnapshotState extends Observed, Learned {}

export interface Observed {
  /** Undefined: it is gone. */
  readonly snapshot: VolumeSnapshot | undefined;
  readonly classes: readonly VolumeSnapshotClass[];
  /** The claim of which the snapshot is taken. */
  readonly claim: PersistentVolumeClaim | undefined;
  /** Another run takes our finalizer off the claim at this moment. */
  readonly isClaimBeingReleased: boolean;
  /** Another snapshot of the claim is not ready, and keeps it. */
  readonly isClaimInUse: boolean;
  readonly volume: PersistentVolume | undefined;
  /** With distributed snapshotting: the node that can reach the volume. Empty: none, or any. */
  readonly node: string;
  /** Under the name where the snapshot has to find it, whether or not it is bound to it. */
  readonly content: VolumeSnapshotContent | undefined;
  /** To the group that the content is a part of, which may be in another namespace. Undefined: no group, or it was not found. */
  readonly contentGroup: ContentReference | undefined;
  /** A pending claim is to be filled from the snapshot. */
  readonly isBeingRestored: boolean;
  /** The group that the snapshot belongs to. `gone` also if another group has its name; `unknown`: groups are not watched. */
  readonly group: VolumeGroupSnapshot | 'none' | 'gone' | 'unknown';
}

export interface Learned extends Confirmation {
  readonly isBegun: boolean;
  readonly claimProtected: Attempt;
  readonly created: Attempt;
  readonly bound: Attempt;
  readonly statusSaved: Attempt;
  readonly errorSaved: Attempt;
  readonly hasLeftClaim: boolean;
  readonly claimReleased: Attempt;
  readonly adopted: Attempt;
  readonly contentAsked: Answer<VolumeSnapshotContent | undefined>;
  readonly restoresListed: Attempt;
  readonly groupAsked: Answer<boolean>;
  readonly contentMarked: Attempt;
  readonly contentDeleted: Attempt;
  readonly finalizersRemoved: Attempt;
}

export const nothingLearned: Learned = {
  isBegun: false,
  prepared: 'untried',
  confirmed: 'untried',
  claimProtected: 'untried',
  created: 'untried',
  bound: 'untried',
  statusSaved: 'untried',
  errorSaved: 'untried',
  hasLeftClaim: false,
  claimReleased: 'untried',
  adopted: 'untried',
  contentAsked: 'unasked',
  restoresListed: 'untried',
  groupAsked: 'unasked',
  contentMarked: 'untried',
  contentDeleted: 'untried',
  finalizersRemoved: 'untried',
};

/** The finalizers and the default class that a snapshot gets in one write. */
export interface Preparation {
  readonly finalizers: readonly string[];
  readonly className: string | undefined;
}

export type Action = { readonly row: string } &
  /** Memory only: the metrics count from here. */
  (
    | { readonly kind: 'begin'; readonly operations: readonly OperationName[]; readonly driver: string }
    | { readonly kind: 'prepare'; readonly snapshot: VolumeSnapshot; readonly preparation: Preparation }
    | { readonly kind: 'protectClaim'; readonly claim: PersistentVolumeClaim }
    | { readonly kind: 'createContent'; readonly snapshot: VolumeSnapshot; readonly content: VolumeSnapshotContent }
    | { readonly kind: 'bind'; readonly snapshot: VolumeSnapshot; readonly content: VolumeSnapshotContent }
    | {
        readonly kind: 'saveStatus';
        readonly snapshot: VolumeSnapshot;
        readonly content: VolumeSnapshotContent;
        readonly facts: ContentFacts;
      }
    /** Memory only: the snapshot does not keep its claim from now on. */
    | { readonly kind: 'leaveClaim'; readonly snapshot: VolumeSnapshot }
    | { readonly kind: 'releaseClaim'; readonly claim: PersistentVolumeClaim; readonly snapshot: VolumeSnapshot }
    | { readonly kind: 'adopt'; readonly snapshot: VolumeSnapshot; readonly group: VolumeGroupSnapshot }
    | { readonly kind: 'askContent'; readonly name: string }
    | { readonly kind: 'listRestores'; readonly snapshot: VolumeSnapshot }
    | { readonly kind: 'askGroup'; readonly namespace: string; readonly name: string }
    | { readonly kind: 'markContent'; readonly snapshot: VolumeSnapshot; readonly content: VolumeSnapshotContent }
    | { readonly kind: 'deleteContent'; readonly snapshot: VolumeSnapshot; readonly content: VolumeSnapshotContent }
    | {
        readonly kind: 'removeFinalizers';
        readonly snapshot: VolumeSnapshot;
        readonly finalizers: readonly string[];
      }
    | Confirm<VolumeSnapshot>
    | SaveError<VolumeSnapshot>
    | Conclusion
  );
