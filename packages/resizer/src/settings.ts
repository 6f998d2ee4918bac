// SPDX-License-Identifier: Apache-2.0
/** What the command line decides, after parsing: plain data that every loop may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';

export interface ResizerSettings extends LoopSettings {
  /** Everything is offered to the loops again this often; 0: never. */
  readonly resyncMs: number;
  /** Deadline of one ControllerExpandVolume. */
  readonly expandTimeoutMs: number;
  /** Deadline of one ControllerModifyVolume. */
  readonly modifyTimeoutMs: number;
  /** Hold back the expansion of a volume in use that the driver expands offline only. */
  readonly handleInUseErrors: boolean;
  /** Send the names of claim and PersistentVolume with every modification. */
  readonly extraModifyMetadata: boolean;
  readonly features: {
    /** Record the size before an expansion on the PersistentVolume until the node has finished. */
    readonly annotateFsResize: boolean;
    /** False: the path of upstream before v2.3.0 with the gate `RecoverVolumeExpansionFailure` off. */
    readonly recovery: boolean;
    readonly volumeAttributesClass: boolean;
  };
}
