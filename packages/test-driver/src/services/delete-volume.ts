// SPDX-License-Identifier: Apache-2.0
/** DeleteVolume. An unknown volume counts as deleted; a volume in use is refused, because it can be deleted later but not restored. */
import { exclusively, type Driver } from '../core/driver.ts';
import type { VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import type { Handler } from './handler.ts';
import { volumeKey } from './lookup.ts';

export const deleteVolume: Handler<'/csi.v1.Controller/DeleteVolume'> = async (driver, request, call) => {
  const id = request.volume_id;
  if (id === '') refuse('InvalidArgument', 'volume_id is missing');
  const named = driver.store.volumes.get(id);
  // The name is locked too: a CreateVolume of the same name must not return a volume that is being deleted.
  const exclusive = named === undefined ? [volumeKey(id)] : [volumeKey(id), `volume name ${named.name}`];
  return await exclusively({ driver, call, claim: { exclusive } }, async () => {
    const volume = driver.store.volumes.get(id);
    if (volume === undefined || volume.phase === 'creating') return {};
    requireUnused(volume);
    await removeVolume(driver, volume);
    return {};
  });
};

function requireUnused(volume: VolumeRecord): void {
  const users = [
    ...volume.attachments.map(({ nodeId }) => `attached to ${nodeId}`),
    ...volume.stagings.map(({ nodeId }) => `staged on ${nodeId}`),
    ...volume.publications.map(({ nodeId }) => `published on ${nodeId}`),
  ];
  if (users.length > 0) refuse('FailedPrecondition', `volume ${volume.id} is in use: ${users.join(', ')}`);
}

/** Saves the intent, removes the data, then the record. A failure leaves the record `deleting`, and the next attempt continues. */
export async function removeVolume({ store, backend }: Driver, volume: VolumeRecord): Promise<void> {
  const deleting: VolumeRecord = { ...volume, phase: 'deleting' };
  await store.volumes.put(deleting);
  await backend.deleteVolume(deleting);
  await store.volumes.delete(volume.id);
}
