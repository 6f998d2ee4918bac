// SPDX-License-Identifier: Apache-2.0
/**
 * The attach loop: from a VolumeAttachment of this driver to ControllerPublishVolume, and from one that is being deleted to
 * ControllerUnpublishVolume. No volume stays on a node because its record was lost. Rows A1 to A14, D1 to D10 and G1 to G4 of
 * the attacher's page.
 *
 * The VolumeAttachment is observed again after each step, own writes included: it may be deleted during the run, and then the
 * same run undoes what it did.
 *
 * Not here: when to attach (the attach/detach controller decides), finalizers of released PersistentVolumes (`pv-finalizer/`),
 * attachments that the driver lost (`drift/`), drivers that need no attaching (`trivial/`).
 */
import type { ControllerPublishVolumeRequestInput, CsiChannel, DriverFacts } from '@csi-sidecars/csi';
import type {
  Answer,
  Attempt,
  Conclusion,
  CSINode,
  LoopTypes,
  PersistentVolume,
  VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { Result, SecretReference } from '@csi-sidecars/volume';
import type { AttachmentKey } from '../attachment.ts';
import type { AttachmentRuns } from '../attachment-runs.ts';
import type { AttacherSettings } from '../settings.ts';
import type { AttachMemory } from './memory.ts';

export interface AttachLoop extends LoopTypes {
  readonly key: AttachmentKey;
  readonly watched: {
    /** With the index `node`. */
    readonly attachments: VolumeAttachment;
    readonly volumes: PersistentVolume;
    readonly csiNodes: CSINode;
  };
  readonly state: AttachState;
  readonly action: Action;
}

/** The same for every attachment of the process. */
export interface AttachContext {
  readonly driver: DriverFacts;
  readonly channel: CsiChannel;
  readonly settings: AttacherSettings;
  readonly finalizer: string;
  readonly memory: AttachMemory;
  readonly runs: AttachmentRuns;
}

export interface AttachState extends Observed, Related, Learned {}

/** Observed again after each step. */
export interface Observed {
  /** Its newest known state, own writes included. Undefined: it is gone, or belongs to another driver. */
  readonly attachment: VolumeAttachment | undefined;
  /** A call of this process after which the volume may be on the node, without a record in the API yet. */
  readonly publication: Publication | undefined;
  /** Another attachment of the same volume to the same node exists, so that the publication is its own now. */
  readonly isPublicationWanted: boolean;
}

/** Observed at the beginning of a run. */
export interface Related {
  /** UID of the object that the run is about: another object of its name is for the next run. */
  readonly uid: string | undefined;
  /** The comparison with the driver found that the status is wrong. */
  readonly isForced: boolean;
  /** `unasked`: not in the cache, which leaves out what belongs to other drivers. The value undefined: it does not exist. */
  readonly volume: Answer<PersistentVolume | undefined>;
  /** The node's id where the driver is registered now. */
  readonly registeredNodeId: Result<string>;
  /** The same, or else the id that was remembered when the volume was attached. */
  readonly knownNodeId: Result<string>;
}

export interface Learned {
  /** Our finalizer was added to the PersistentVolume. */
  readonly volumeFinalizer: Attempt;
  readonly secrets: Answer<Secrets>;
  /** Finalizer and node id were written to the VolumeAttachment. */
  readonly marked: Attempt;
  readonly published: Answer<PublishContext>;
  /** The volume of a publication without an attachment was unpublished. */
  readonly orphanUnpublished: Attempt;
  readonly attachedSaved: Attempt;
  readonly unpublished: Attempt;
  /** Our finalizer was removed from the VolumeAttachment. */
  readonly released: Attempt;
  readonly detachedSaved: Attempt;
  /** The failure of this run was written to the status, or at least that was tried. */
  readonly isReported: boolean;
  /** A call for the same volume and node is under way, for another attachment. */
  readonly isBusy: boolean;
}

export type Secrets = Readonly<Record<string, string>>;

/** What the node side gets to know of a published volume. */
export type PublishContext = Readonly<Record<string, string>>;

export const nothingLearned: Learned = {
  volumeFinalizer: 'untried',
  secrets: 'unasked',
  marked: 'untried',
  published: 'unasked',
  orphanUnpublished: 'untried',
  attachedSaved: 'untried',
  unpublished: 'untried',
  released: 'untried',
  detachedSaved: 'untried',
  isReported: false,
  isBusy: false,
};

export type Action = { readonly row: string } & (
  | { readonly kind: 'findVolume'; readonly name: string }
  | { readonly kind: 'addVolumeFinalizer'; readonly volume: PersistentVolume }
  | { readonly kind: 'readSecrets'; readonly reference: SecretReference }
  | { readonly kind: 'mark'; readonly attachment: VolumeAttachment; readonly nodeId: string }
  | {
      readonly kind: 'publish';
      readonly attachment: VolumeAttachment;
      readonly request: ControllerPublishVolumeRequestInput;
      readonly migrated: boolean;
    }
  | { readonly kind: 'saveAttached'; readonly attachment: VolumeAttachment; readonly context: PublishContext }
  | { readonly kind: 'unpublish'; readonly call: UnpublishCall }
  | { readonly kind: 'unpublishOrphan'; readonly publication: Publication }
  /** Memory only. */
  | { readonly kind: 'forgetPublication' }
  | { readonly kind: 'release'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'saveDetached'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'report'; readonly attachment: VolumeAttachment; readonly error: ReportedError }
  | Conclusion
);

/** A ControllerPublishVolume that was called, and the call that undoes it. */
export interface Publication {
  /** UID of the VolumeAttachment that it was for. */
  readonly uid: string | undefined;
  readonly attachment: AttachmentKey;
  readonly nodeName: string;
  /** Undefined: an inline volume. */
  readonly volumeName: string | undefined;
  readonly undo: UnpublishCall;
}

export type ReportedError =
  /** `code` is that of a gRPC status; undefined: the failure was none. */
  | { readonly field: 'attachError'; readonly message: string; readonly code: number | undefined }
  | { readonly field: 'detachError'; readonly message: string };

export interface UnpublishCall {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly secrets: Secrets | undefined;
  readonly migrated: boolean;
}
