// SPDX-License-Identifier: Apache-2.0
import type { LimitSettings } from './serve/stream-limits.ts';

export interface Settings extends LimitSettings {
  /** Empty: that of the SnapshotMetadataService. */
  readonly audience: string;
  readonly maxDurationMs: number;
  readonly maxConnections: number;
  /** Whether the names of snapshots are labels of metrics. */
  readonly snapshotLabels: 'shown' | 'hidden';
}
