// SPDX-License-Identifier: Apache-2.0
/**
 * How long creating and deleting takes, in upstream's metrics. An operation is known by its name and the UID of the object; it begins
 * when this process first sees that there is something to do.
 */
import type { Clock, Metrics } from '@csi-sidecars/runtime';

export type CreateOperation =
  | 'CreateSnapshot'
  | 'CreateSnapshotAndReady'
  | 'CreateGroupSnapshot'
  | 'CreateGroupSnapshotAndReady';
export type OperationName = CreateOperation | 'DeleteSnapshot' | 'DeleteGroupSnapshot';
type OperationStatus = 'success' | 'cancel';

export interface OperationFacts {
  /** Empty: unknown. */
  readonly driver: string;
  readonly type: 'dynamic' | 'pre-provisioned';
}

export interface Operations {
  /** Does nothing if it has begun already. */
  start(name: OperationName, uid: string, facts: OperationFacts): void;
  /** False: it has not begun, and nothing is done. An empty driver stands for the one that was known at the beginning. */
  succeed(name: OperationName, uid: string, driver: string): boolean;
  /** The object is gone: its deletion succeeded, and what was still to be created is cancelled. */
  gone(names: OperationNames, uid: string): void;
}

export interface OperationNames {
  readonly created: CreateOperation;
  readonly ready: CreateOperation;
  readonly deleted: OperationName;
}

export const singleOperations: OperationNames = {
  created: 'CreateSnapshot',
  ready: 'CreateSnapshotAndReady',
  deleted: 'DeleteSnapshot',
};
export const groupOperations: OperationNames = {
  created: 'CreateGroupSnapshot',
  ready: 'CreateGroupSnapshotAndReady',
  deleted: 'DeleteGroupSnapshot',
};

interface Entry extends OperationFacts {
  readonly startedMs: number;
}

export function createOperations(metrics: Metrics, clock: Pick<Clock, 'monotonicMs'>): Operations {
  const inFlight = new Map<string, Entry>();
  const gauge = metrics.gauge({
    name: 'snapshot_controller_operations_in_flight',
    help: '[ALPHA] Total number of operations in flight',
  });
  const histogram = metrics.histogram({
    name: 'snapshot_controller_operation_total_seconds',
    help: '[ALPHA] Total number of seconds spent by the controller on an operation',
    labels: ['driver_name', 'operation_name', 'snapshot_type', 'operation_status'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 600],
  });
  gauge.set(0);

  const end = (
    name: OperationName,
    uid: string,
    { driver = '', status, seconds }: { driver?: string; status: OperationStatus; seconds?: number | undefined },
  ): number | undefined => {
    const key = `${name} ${uid}`;
    const entry = inFlight.get(key);
    if (entry === undefined) return undefined;
    inFlight.delete(key);
    gauge.set(inFlight.size);
    const took = seconds ?? (clock.monotonicMs() - entry.startedMs) / 1_000;
    histogram.observe(took, {
      driver_name: driver || entry.driver || 'unknown',
      operation_name: name,
      snapshot_type: entry.type,
      operation_status: status,
    });
    return took;
  };

  return {
    start: (name, uid, facts) => {
      const key = `${name} ${uid}`;
      if (inFlight.has(key)) return;
      inFlight.set(key, { ...facts, startedMs: clock.monotonicMs() });
      gauge.set(inFlight.size);
    },
    succeed: (name, uid, driver) => end(name, uid, { driver, status: 'success' }) !== undefined,
    gone: ({ created, ready, deleted }, uid) => {
      // Upstream's cancelled creations have the duration of the deletion.
      const seconds = end(deleted, uid, { status: 'success' });
      for (const name of [created, ready]) end(name, uid, { status: 'cancel', seconds });
    },
  };
}
