// SPDX-License-Identifier: Apache-2.0
/**
 * The attach loop: calls ControllerPublishVolume for a VolumeAttachment of this driver, and ControllerUnpublishVolume for one that is
 * being deleted. No volume stays on a node because its record was lost. Rows A1 to A14, D1 to D10 and G1 to G4 of
 * docs/behaviour/attacher.md.
 *
 * The VolumeAttachment is observed again after each step, including own writes. It may be deleted during the run, and then the same run
 * undoes what it did.
 *
 * Not here: when to attach (the attach/detach controller decides), the release of PersistentVolumes (`pv-finalizer/`), volumes that
 * the driver lost (`drift/`), drivers that need no attaching (`trivial/`).
 */
import type { ControllerPublishVolumeRequestInput, CsiChannel, DriverInfo } from '@csi-sidecars/csi';
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
import type { AttachMemory, Publication, Secrets, UnpublishCall } from './memory.ts';

export interface AttachLoop extends LoopTypes {
  readonly key: AttachmentKey;
  readonly watched: {
    /** The VolumeAttachments, with the index `node`. */
    readonly attachments: VolumeAttachment;
    readonly volumes: PersistentVolume;
    readonly csiNodes: CSINode;
  };
  readonly state: AttachState;
  readonly action: Action;
}

/** What all runs of the loop share. */
export interface AttachContext {
  readonly driver: DriverInfo;
  readonly channel: CsiChannel;
  readonly settings: AttacherSettings;
  readonly finalizer: string;
  readonly memory: AttachMemory;
  readonly runs: AttachmentRuns;
}

export interface AttachState extends Observed, Related, Learned {}

/** The part of the state that is observed again after each step. */
export interface Observed {
  /** Its newest known state, including own writes. Undefined if it is gone or belongs to another driver. */
  readonly attachment: VolumeAttachment | undefined;
  /** A publish call of this process after which the volume may be on the node, and which no object records yet. */
  readonly publication: Publication | undefined;
  /** Another attachment of the same volume to the same node exists and takes over the publication. */
  readonly isNeededByAnother: boolean;
  /** The node id that the driver has registered on the node. It may register under another one while a run is under way. */
  readonly registeredNodeId: Result<string>;
  /** The registered node id, or else the one that the attachment keeps. */
  readonly knownNodeId: Result<string>;
}

/** The part of the state that is observed once, at the beginning of a run. */
export interface Related {
  /** The UID of the object that the run works on. A later object of the same name is left to the next run. */
  readonly uid: string | undefined;
  /** The comparison with the driver found a wrong status, so the run ignores the status. */
  readonly isForced: boolean;
  /** `unasked` if it is not in the cache, which drops volumes of other drivers. The value is undefined if it does not exist. */
  readonly volume: Answer<PersistentVolume | undefined>;
}

export interface Learned {
  /** Our finalizer was added to the PersistentVolume. */
  readonly volumeFinalizer: Attempt;
  readonly secrets: Answer<Secrets>;
  /** Finalizer and this node id were written to the VolumeAttachment. `changed`: others had written it, and it was read again. */
  readonly marked: Answer<string> | 'changed';
  readonly published: Answer<PublishContext>;
  /** The volume of a publication without an attachment was unpublished. */
  readonly orphanUnpublished: Attempt;
  readonly attachedSaved: Attempt;
  readonly unpublished: Attempt;
  /** Our finalizer was removed from the VolumeAttachment. */
  readonly released: Attempt;
  readonly detachedSaved: Attempt;
  /** The run has tried to write its failure to the status, with or without success. */
  readonly isReported: boolean;
  /** A call for the same volume and node is in flight for another attachment. */
  readonly isBusy: boolean;
}

/** What the driver returns from a publish for the node side. */
export type PublishContext = Readonly<Record<string, string>>;

export const nothingLearned: Learned = {
  volumeFinalizer: 'untried',
  secrets: 'unasked',
  marked: 'unasked',
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
  /** Changes the memory only. */
  | { readonly kind: 'forgetPublication' }
  | { readonly kind: 'release'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'saveDetached'; readonly attachment: VolumeAttachment }
  | { readonly kind: 'report'; readonly attachment: VolumeAttachment; readonly error: ReportedError }
  | Conclusion
);

export type ReportedError =
  /** `code` is the gRPC code of the failure; undefined if it has none. */
  | { readonly field: 'attachError'; readonly message: string; readonly code: number | undefined }
  | { readonly field: 'detachError'; readonly message: string };
