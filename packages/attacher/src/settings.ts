// SPDX-License-Identifier: Apache-2.0
/** The settings of the command line after parsing: plain data that every loop may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';

export interface AttacherSettings extends LoopSettings {
  /** Deadline of one publish or unpublish call. */
  readonly timeoutMs: number;
  /** All cached objects are delivered to the loops again at this interval; 0: never. */
  readonly resyncMs: number;
  /** The most entries in one page of ListVolumes; 0: no limit. */
  readonly maxEntries: number;
  /** Pause between two comparisons with what the driver lists. */
  readonly reconcileSyncMs: number;
  /** The file system of volumes that name none. Empty: the driver chooses. */
  readonly defaultFsType: string;
  readonly features: {
    /** Write the gRPC code of a failed publish to `attachError.errorCode`, which kubelet reads. */
    readonly errorCodes: boolean;
  };
}
