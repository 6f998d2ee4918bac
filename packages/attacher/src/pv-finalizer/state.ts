// SPDX-License-Identifier: Apache-2.0
/**
 * The PersistentVolume loop: removes our finalizer from a PersistentVolume that no detach will need any more. Rows F1 to F4 of
 * the attacher's page, which also says why that is safe while caches are behind.
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
    /** Of every attacher, with the index `volume`. */
    readonly attachments: VolumeAttachment;
  };
  readonly state: ReleaseState;
  readonly action: Action;
}

export interface ReleaseState {
  /** Undefined: it is gone. */
  readonly volume: PersistentVolume | undefined;
  /** A VolumeAttachment names the volume, of any attacher and in any state. */
  readonly isAttached: boolean;
  readonly removed: Attempt;
}

export type Action =
  | { readonly row: string; readonly kind: 'removeFinalizer'; readonly volume: PersistentVolume }
  | Conclusion;
