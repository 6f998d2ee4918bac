// SPDX-License-Identifier: Apache-2.0
/**
 * The attach loop: from a VolumeAttachment of this driver to ControllerPublishVolume, from one that is being deleted to
 * ControllerUnpublishVolume, and no volume left on a node for want of a record. Rows A1 to A15, D1 to D11 and G1 to G4 of the
 * attacher's page.
 *
 * One run is: observe, then decide, perform, learn, until a conclusion. The VolumeAttachment is observed anew after each step, own
 * writes included: it may turn out to be deleted on the way, and then the same run takes off what it put on.
 *
 * Not here: when to attach (the attach/detach controller decides), finalizers of released PersistentVolumes (`pv-finalizer/`),
 * attachments that the driver lost (`drift/`), drivers that need no attaching (`trivial/`).
 */
import type { ControllerPublishVolumeRequestInput, DriverFacts } from '@csi-sidecars/csi';
import type { Outcome, PersistentVolume, VolumeAttachment } from '@csi-sidecars/runtime';
import type { Result, SecretReference } from '@csi-sidecars/volume';
import type { AttacherSettings } from '../settings.ts';

declare const attachmentName: unique symbol;
/** Queue key of the attach loop: the VolumeAttachment's name. */
export type AttachmentName = string & { readonly [attachmentName]: true };

export function toAttachmentName(name: string): AttachmentName {
  return name as AttachmentName;
}

export function nameOf(attachment: VolumeAttachment): AttachmentName {
  return toAttachmentName(attachment.metadata?.name ?? '');
}

/** The same for every attachment of the process. */
export interface AttachContext {
  readonly driver: DriverFacts;
  readonly settings: AttacherSettings;
  readonly finalizer: string;
}

export interface AttachState extends Observed, Surroundings, Learned {}

/** Observed anew after each step. */
export interface Observed {
  /** The newest that is known of it, own writes included. Undefined: it is gone, or none of ours. */
  readonly attachment: VolumeAttachment | undefined;
  /** What this process published, or may have, and has not seen on record since. */
  readonly publication: Publication | undefined;
  /** The place of the publication belongs to another attachment now. */
  readonly isPlaceTaken: boolean;
}

/** Observed once for a run. */
export interface Surroundings {
  /** The comparison with the driver says that the status is not true. */
  readonly isForced: boolean;
  readonly volume: VolumeRead;
  /** Where the driver runs now. */
  readonly registeredNodeId: Result<string>;
  /** The same, or what was remembered when it was attached. */
  readonly knownNodeId: Result<string>;
}

export type VolumeRead =
  /** Not in the cache, which leaves out what is of other drivers. */
  | { readonly kind: 'unread' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'found'; readonly volume: PersistentVolume }
  | { readonly kind: 'failed'; readonly message: string };

export interface Learned {
  /** Our finalizer on the PersistentVolume. */
  readonly guarding: Attempt;
  readonly secrets: SecretsRead;
  /** Finalizer and node id on the VolumeAttachment. */
  readonly marking: Attempt;
  readonly published: Published;
  readonly takenBack: Attempt;
  readonly saved: Attempt;
  readonly unpublished: Attempt;
  /** Our finalizer off the VolumeAttachment. */
  readonly released: Attempt;
  readonly cleared: Attempt;
  /** What went wrong, in the status. */
  readonly reported: 'no' | 'yes';
  /** Another attachment of the same volume to the same node has a call under way. */
  readonly isBusy: boolean;
}

export type Attempt = 'untried' | 'done' | Failure;
export interface Failure {
  readonly failure: string;
}

export type SecretsRead =
  | { readonly kind: 'unread' }
  | { readonly kind: 'found'; readonly values: Readonly<Record<string, string>> | undefined }
  | { readonly kind: 'failed'; readonly message: string };

export type Published =
  | { readonly kind: 'untried' }
  | { readonly kind: 'done'; readonly context: PublishContext }
  | { readonly kind: 'failed'; readonly message: string; readonly code: number | undefined };

export const nothingLearned: Learned = {
  guarding: 'untried',
  secrets: { kind: 'unread' },
  marking: 'untried',
  published: { kind: 'untried' },
  takenBack: 'untried',
  saved: 'untried',
  unpublished: 'untried',
  released: 'untried',
  cleared: 'untried',
  reported: 'no',
  isBusy: false,
};

export type Action =
  /** Asks for a PersistentVolume that the cache does not have. */
  | { readonly kind: 'findVolume'; readonly name: string }
  | { readonly kind: 'guardVolume'; readonly volume: PersistentVolume }
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
  /** What is on a node for an attachment that is gone. */
  | { readonly kind: 'takeBack'; readonly publication: Publication }
  /** Memory only. */
  | { readonly kind: 'forgetPublication' }
  | { readonly kind: 'release'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'saveDetached'; readonly attachment: VolumeAttachment }
  | {
      readonly kind: 'report';
      readonly attachment: VolumeAttachment;
      readonly error: AttachError | DetachError;
    }
  | Conclusion;

/** A ControllerPublishVolume that was called, and what takes it back. */
export interface Publication {
  /** Of the VolumeAttachment it was for. */
  readonly uid: string | undefined;
  readonly attachmentName: AttachmentName;
  readonly nodeName: string;
  /** Undefined: an inline volume. */
  readonly volumeName: string | undefined;
  readonly undo: UnpublishCall;
}

/** What the driver tells the node side about a published volume. */
export type PublishContext = Readonly<Record<string, string>>;

export interface AttachError {
  readonly field: 'attachError';
  readonly message: string;
  /** Of a gRPC status; undefined: it was none. */
  readonly code: number | undefined;
}

export interface DetachError {
  readonly field: 'detachError';
  readonly message: string;
}

export interface UnpublishCall {
  readonly volumeId: string;
  readonly nodeId: string;
  readonly secrets: Readonly<Record<string, string>> | undefined;
  readonly migrated: boolean;
}

export interface Conclusion {
  readonly kind: 'conclude';
  readonly outcome: Outcome;
}
