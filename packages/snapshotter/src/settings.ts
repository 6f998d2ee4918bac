// SPDX-License-Identifier: Apache-2.0
/** What the command line decides, after parsing: plain data that both loops may read. */
import type { LoopSettings } from '@csi-sidecars/runtime';
import type { SnapshotNames } from './names.ts';

export interface SnapshotterSettings extends LoopSettings {
  /** Everything is offered to the loops again this often; 0: never. */
  readonly resyncMs: number;
  /** 0: snapshots are not audited. */
  readonly auditIntervalMs: number;
  /** Deadline of one call to the driver. */
  readonly timeoutMs: number;
  /** Send the names of snapshot and content with every creation. */
  readonly extraCreateMetadata: boolean;
  readonly snapshotNames: SnapshotNames;
  readonly groupSnapshotNames: SnapshotNames;
  /** Distributed snapshotting: only the contents of this node. Undefined: all contents of the driver. */
  readonly nodeName: string | undefined;
  /** The gate is on, and the cluster has the kinds. */
  readonly groupSnapshots: boolean;
  /** Alpha, the gate VolumeSnapshotTopology: where a snapshot can be used is asked for and recorded. */
  readonly snapshotTopology: boolean;
}
