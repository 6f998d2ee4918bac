// SPDX-License-Identifier: Apache-2.0
import { persistentVolumes } from '@csi-sidecars/runtime';
import type { DriverActor } from '../../driver.ts';
import type { World } from '../../world.ts';
import { isAdmitted, isDeleting } from './lookups.ts';

export function unsettledVolumes(world: World, actor: DriverActor): readonly string[] {
  const { objects } = world.sim.server;
  const { model } = actor;
  const found: string[] = [];
  const recorded = new Set<string>();
  const held = new Set(model.volumes().map(({ id }) => id));
  for (const volume of objects.list(persistentVolumes)) {
    const { metadata, spec, status } = volume;
    if (spec?.csi?.driver !== actor.name) continue;
    const handle = spec?.csi?.volumeHandle ?? '';
    if (recorded.has(handle)) found.push(`two PersistentVolumes record ${handle}`);
    recorded.add(handle);
    const isKept = spec?.persistentVolumeReclaimPolicy === 'Retain';
    // One that a person has deleted waits for its claim.
    if (isDeleting(volume) && status?.phase !== 'Bound')
      found.push(`PersistentVolume ${metadata?.name} is still being deleted`);
    if (status?.phase !== 'Bound' && !isKept) found.push(`PersistentVolume ${metadata?.name} is ${status?.phase}`);
    if (!held.has(handle)) found.push(`PersistentVolume ${metadata?.name} has no volume`);
  }
  for (const { id, name } of model.volumes()) {
    if (!recorded.has(id) && !isAdmitted(world, actor, { id, name }))
      found.push(`leak: volume ${name} has no PersistentVolume`);
  }
  return found;
}
