// SPDX-License-Identifier: Apache-2.0
/** What is known to be wrong with volumes: set by a test, or found by the storage. */
import type { VolumeHealthInput } from '@csi-sidecars/csi';
import type { Driver } from '../core/driver.ts';
import { pageOf } from '../core/paging.ts';
import type { VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import type { Handler } from './handler.ts';
import { requireVolume } from './lookup.ts';

type Entries = NonNullable<VolumeHealthInput['health_statuses']>;

export const controllerGetVolumeHealth: Handler<'/csi.v1.Controller/ControllerGetVolumeHealth'> = async (
  driver,
  { volume_id: id },
) => ({ volume_health: await healthOf(driver, id) });

/** Volumes without a fault are left out. */
export const controllerListVolumeHealth: Handler<'/csi.v1.Controller/ControllerListVolumeHealth'> = async (
  driver,
  request,
) => {
  const all = await Promise.all(
    driver.store.volumes.allReady().map(async (volume) => ({ volume, entries: await entriesOf(driver, volume) })),
  );
  const faulty = new Map(
    all.filter(({ entries }) => entries.length > 0).map(({ volume, entries }) => [volume, entries]),
  );
  const page = pageOf([...faulty.keys()], request);
  return {
    entries: page.records.map((volume) => ({ volume_id: volume.id, health_statuses: faulty.get(volume) })),
    next_token: page.nextToken,
  };
};

export const nodeGetVolumeHealth: Handler<'/csi.v1.Node/NodeGetVolumeHealth'> = async (driver, { volume_id: id }) => ({
  volume_health: await healthOf(driver, id),
});

/** The storage is a folder of this machine: it is there as long as the driver is. */
export const nodeGetStorageHealth: Handler<'/csi.v1.Node/NodeGetStorageHealth'> = () => ({ backend_health: [] });

async function healthOf(driver: Driver, id: string): Promise<VolumeHealthInput> {
  if (id === '') refuse('InvalidArgument', 'volume_id is missing');
  return { volume_id: id, health_statuses: await entriesOf(driver, requireVolume(driver, id)) };
}

async function entriesOf({ backend }: Driver, volume: VolumeRecord): Promise<Entries> {
  return volume.health ?? (await backend.health(volume));
}
