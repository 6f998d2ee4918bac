// SPDX-License-Identifier: Apache-2.0
/** The settings of the command line after parsing: plain data that every loop may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';

export interface HealthMonitorSettings extends LoopSettings {
  /** Deadline of one call to the driver (each page of a list has its own), and of one status patch. */
  readonly timeoutMs: number;
  /** For a driver that lists: the pause between two cycles. */
  readonly listIntervalMs: number;
  /** For a driver that does not list: the time in which every volume is asked about once. */
  readonly monitorIntervalMs: number;
  /** The most entries in one page of a list; 0: the driver chooses. */
  readonly maxEntries: number;
}
