// SPDX-License-Identifier: Apache-2.0
/** What the command line decides, after parsing: plain data that every loop may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';

export interface SnapshotControllerSettings extends LoopSettings {
  /** Everything is offered to the loops again this often; 0: never. */
  readonly resyncMs: number;
  /** Contents name the node whose csi-snapshotter is responsible. */
  readonly distributed: boolean;
  /** Contents record the volume mode of their source. */
  readonly recordVolumeMode: boolean;
  /** Group snapshots are switched on, and the cluster has their kinds. */
  readonly groups: boolean;
}
