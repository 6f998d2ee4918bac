// SPDX-License-Identifier: Apache-2.0
/** What an administrator of the storage may do behind the callers' back. */
import type { Driver } from '../core/driver.ts';
import type { Condition } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';

/** Health as reported from now on; undefined: as the storage sees it. */
export async function setCondition(
  { store }: Driver,
  volumeId: string,
  condition: Condition | undefined,
): Promise<void> {
  const volume = store.volumes.ready(volumeId) ?? refuse('NotFound', `volume ${volumeId} does not exist`);
  await store.volumes.put({ ...volume, condition });
}

/** From when on a snapshot is ready to use: 0 at once, `Number.MAX_SAFE_INTEGER` never. */
export async function setSnapshotReadyAt({ store }: Driver, snapshotId: string, readyAtMs: number): Promise<void> {
  const snapshot = store.snapshots.ready(snapshotId) ?? refuse('NotFound', `snapshot ${snapshotId} does not exist`);
  await store.snapshots.put({ ...snapshot, readyAtMs });
}
