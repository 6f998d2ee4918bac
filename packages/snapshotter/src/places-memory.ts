// SPDX-License-Identifier: Apache-2.0
/**
 * What the process remembers about places (alpha, the gate VolumeSnapshotTopology): whether the API server keeps the field, whose definition may lack it,
 * and for which snapshots of groups the driver was asked. Lost with the process.
 */
import type { Clock, Metrics } from '@csi-sidecars/runtime';

export interface PlacesMemory {
  /** False for ten minutes after a write whose field the API server dropped: it would drop the next one too. */
  areKept(): boolean;
  /** The API server dropped the field. True: that is new. */
  noteDropped(): boolean;
  noteKept(): void;
  isAsked(uid: string): boolean;
  noteAsked(uid: string): void;
  /** The content is gone. */
  forget(uid: string): void;
}

const pauseMs = 10 * 60_000;

export function createPlacesMemory({
  clock,
  metrics,
}: {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly metrics: Metrics;
}): PlacesMemory {
  const dropped = metrics.counter({
    name: 'csi_sidecars_snapshot_topology_writes_dropped_total',
    help: '[ALPHA] Total number of writes whose spec.nodeAffinity was dropped by the API server, because the definition of VolumeSnapshotContent lacks the field.',
  });
  const asked = new Set<string>();
  let droppedAtMs: number | undefined;
  return {
    areKept: () => droppedAtMs === undefined || clock.monotonicMs() - droppedAtMs >= pauseMs,
    noteDropped: () => {
      const isNew = droppedAtMs === undefined;
      droppedAtMs = clock.monotonicMs();
      dropped.inc();
      return isNew;
    },
    noteKept: () => {
      droppedAtMs = undefined;
    },
    isAsked: (uid) => asked.has(uid),
    noteAsked: (uid) => {
      asked.add(uid);
    },
    forget: (uid) => void asked.delete(uid),
  };
}
