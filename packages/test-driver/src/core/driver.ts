// SPDX-License-Identifier: Apache-2.0
/** One driver: its settings, its records and its storage. Handlers get it as their first parameter. */
import type { Clock } from '@csi-sidecars/runtime';
import type { Backend } from './backend.ts';
import { Locks, type Claim } from './locks.ts';
import type { Settings } from './settings.ts';
import { openStore, type Persistence, type Store } from './store.ts';

export interface Driver {
  readonly settings: Settings;
  readonly store: Store;
  readonly backend: Backend;
  readonly locks: Locks;
  readonly clock: Clock;
  readonly newId: (kind: 'volume' | 'snapshot' | 'group') => string;
}

export interface Call {
  /** The node whose endpoint was called. */
  readonly nodeId: string;
  /** The point where a test may delay or break a call that holds its locks and is valid. */
  readonly underLock: () => Promise<void>;
}

export interface DriverParts extends Omit<Driver, 'store' | 'locks'> {
  readonly persistence: Persistence;
}

/** Loads the records and finishes what a crash interrupted: neither data without a record nor the reverse remains. */
export async function openDriver({ persistence, ...parts }: DriverParts): Promise<Driver> {
  const store = await openStore(persistence);
  const driver = { ...parts, store, locks: new Locks() };
  await removeUnfinished(driver);
  return driver;
}

async function removeUnfinished({ store, backend }: Driver): Promise<void> {
  for (const group of store.groups.all()) {
    if (group.phase === 'ready') continue;
    // Members are removed first, because they are found through their group.
    for (const member of store.snapshots.all().filter(({ groupId }) => groupId === group.id)) {
      await backend.deleteSnapshot(member);
      await store.snapshots.delete(member.id);
    }
    await store.groups.delete(group.id);
  }
  for (const snapshot of store.snapshots.all()) {
    if (snapshot.phase === 'ready') continue;
    await backend.deleteSnapshot(snapshot);
    await store.snapshots.delete(snapshot.id);
  }
  for (const volume of store.volumes.all()) {
    if (volume.phase === 'ready') continue;
    await backend.deleteVolume(volume);
    await store.volumes.delete(volume.id);
  }
  const ids = (table: { all(): { id: string }[] }): Set<string> => new Set(table.all().map(({ id }) => id));
  await backend.sweep({ volumes: ids(store.volumes), snapshots: ids(store.snapshots) });
}

/** Runs `work` with the locks held. Faults of kind `during` act between validation and effect. */
export async function exclusively<T>(
  { driver, call, claim }: { driver: Driver; call: Call; claim: Claim },
  work: () => Promise<T>,
): Promise<T> {
  using _ = driver.locks.hold(claim);
  await call.underLock();
  return await work();
}
