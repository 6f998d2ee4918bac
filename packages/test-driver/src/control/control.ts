// SPDX-License-Identifier: Apache-2.0
/**
 * How a test controls a driver apart from calling it. The interface is the same for the model and, through a socket, for the program, so that
 * a scenario runs on both.
 */
import type { Driver } from '../core/driver.ts';
import type { GroupRecord, HealthEntry, SnapshotRecord, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import type { FaultBox, FaultStatus } from '../faults/fault-box.ts';
import type { FaultRule } from '../faults/rules.ts';
import type { RecordedCall } from '../journal/journal.ts';

export interface DriverControl {
  /** Resolves with the rule's id. */
  addFault(rule: FaultRule): Promise<string>;
  /** Removes the rule; calls that hang because of it continue. */
  removeFault(id: string): Promise<void>;
  clearFaults(): Promise<void>;
  /** Lets the calls that hang now continue; resolves with their number. */
  releaseFault(id: string): Promise<number>;
  faults(): Promise<readonly FaultStatus[]>;
  /** Every call so far, oldest first. */
  calls(): Promise<readonly RecordedCall[]>;
  /** In order of creation, including unfinished records, which callers cannot see. */
  volumes(): Promise<readonly VolumeRecord[]>;
  snapshots(): Promise<readonly SnapshotRecord[]>;
  groups(): Promise<readonly GroupRecord[]>;
  /** What is reported to be wrong from now on; undefined means what is really wrong. */
  setHealth(volumeId: string, health: readonly HealthEntry[] | undefined): Promise<void>;
  /** When a snapshot becomes ready to use: 0 means at once, `Number.MAX_SAFE_INTEGER` never. */
  setSnapshotReadyAt(snapshotId: string, readyAtMs: number): Promise<void>;
}

export interface ControlDeps {
  readonly driver: () => Promise<Driver>;
  readonly faults: FaultBox;
  readonly calls: () => Promise<readonly RecordedCall[]>;
}

export function createControl({ driver, faults, calls }: ControlDeps): DriverControl {
  const store = async (): Promise<Driver['store']> => (await driver()).store;
  return {
    addFault: async (rule) => faults.add(rule),
    removeFault: async (id) => {
      if (!faults.remove(id)) refuse('NotFound', `there is no fault rule ${id}`);
    },
    clearFaults: async () => faults.clear(),
    releaseFault: async (id) => faults.release(id),
    faults: async () => faults.list(),
    calls,
    volumes: async () => (await store()).volumes.all(),
    snapshots: async () => (await store()).snapshots.all(),
    groups: async () => (await store()).groups.all(),
    setHealth: async (volumeId, health) => {
      const { volumes } = await store();
      const volume = volumes.ready(volumeId) ?? refuse('NotFound', `volume ${volumeId} does not exist`);
      await volumes.put({ ...volume, health });
    },
    setSnapshotReadyAt: async (snapshotId, readyAtMs) => {
      const { snapshots } = await store();
      const snapshot = snapshots.ready(snapshotId) ?? refuse('NotFound', `snapshot ${snapshotId} does not exist`);
      await snapshots.put({ ...snapshot, readyAtMs });
    },
  };
}
