// SPDX-License-Identifier: Apache-2.0
/** What the command line decides, after parsing: plain data that every loop may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';

export interface AttacherSettings extends LoopSettings {
  /** Deadline of one publish or unpublish call. */
  readonly timeoutMs: number;
  /** Everything is looked at again this often; 0: never. */
  readonly resyncMs: number;
  /** Of one page of ListVolumes; 0: no limit. */
  readonly maxEntries: number;
  /** Pause between two comparisons with what the driver lists. */
  readonly reconcileSyncMs: number;
  /** Empty: none. */
  readonly defaultFsType: string;
  readonly features: {
    /** Failed attachments tell the gRPC code as a number, for kubelet. */
    readonly errorCodes: boolean;
  };
}
