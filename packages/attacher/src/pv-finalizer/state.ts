// SPDX-License-Identifier: Apache-2.0
/**
 * The PersistentVolume loop: removes our finalizer from a PersistentVolume that no detach will need any more. Rows F1 to F4 of
 * docs/behaviour/attacher.md, which also explains why that is safe while caches lag.
 *
 * Not here: adding the finalizer, which is a step of the attachment (`attach/`).
 */
import type {
  Attempt,
  Conclusion,
  LoopTypes,
  ObjectKey,
  PersistentVolume,
  VolumeAttachment,
} from '@csi-sidecars/runtime';

export interface PvFinalizerLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: {
    readonly volumes: PersistentVolume;
    /** The VolumeAttachments of every attacher, with the index `volume`. */
    readonly attachments: VolumeAttachment;
  };
  readonly state: ReleaseState;
  readonly action: Action;
}

export interface ReleaseState {
  /** Undefined if the PersistentVolume is gone. */
  readonly volume: PersistentVolume | undefined;
  /** A VolumeAttachment of any attacher, in any state, names the volume. */
  readonly isAttached: boolean;
  readonly removed: Attempt;
}

export type Action =
  | { readonly row: string; readonly kind: 'removeFinalizer'; readonly volume: PersistentVolume }
  | Conclusion;
