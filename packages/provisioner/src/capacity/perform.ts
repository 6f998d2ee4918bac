// SPDX-License-Identifier: Apache-2.0
/** The effects of the capacity loop's actions. All decisions are in `decide`. */
import {
  ask,
  attempt,
  type CSIStorageCapacity,
  csiStorageCapacities,
  type Facts,
  type Performers,
  writeObject,
} from '@csi-sidecars/runtime';
import { deleteObject } from '../delete-object.ts';
import type { CapacityDeps, CapacityLoop } from './state.ts';

export function performers({ channel, client, timeoutMs }: CapacityDeps): Performers<CapacityLoop> {
  return {
    remove: async ({ action, caches, signal }) => ({
      removed: await attempt(async () => {
        for (const object of action.objects) {
          // The segment or class may be back before the watch brings the deletion: the cache shows it at once.
          await deleteObject({ client, cache: caches.objects }, { resource: csiStorageCapacities, object }, { signal });
        }
      }),
    }),
    ask: async ({ action, signal }) => ({
      reported: await ask(async () => {
        const answer = await channel.call('/csi.v1.Controller/GetCapacity', action.request, { timeoutMs, signal });
        const { available_capacity: available, maximum_volume_size: maximum } = answer;
        return { available: BigInt(available), maximum: maximum === null ? undefined : BigInt(maximum.value) };
      }),
    }),
    create: async ({ action, caches, signal, logger }) => ({
      written: await attempt(async () => {
        // Until the watch brings it, the object must not be created a second time: the cache shows it at once.
        const created = await writeObject(caches.objects, action.object, () =>
          client.create(csiStorageCapacities, action.object, { signal }),
        );
        logger.info(5, 'Created CSIStorageCapacity', factsOf(created));
      }),
    }),
    update: async ({ action, caches, signal, logger }) => ({
      written: await attempt(async () => {
        const updated = await writeObject(caches.objects, action.object, () =>
          client.update(csiStorageCapacities, action.object, { signal }),
        );
        logger.info(5, 'Updated CSIStorageCapacity', factsOf(updated));
      }),
    }),
  };
}

function factsOf({ metadata, capacity, storageClassName }: CSIStorageCapacity): Facts {
  return { object: metadata?.name, StorageClass: storageClassName, capacity };
}
