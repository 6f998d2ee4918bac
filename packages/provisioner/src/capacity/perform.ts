// SPDX-License-Identifier: Apache-2.0
/** The effects of the capacity loop's actions. All decisions are in `decide`. */
import {
  type ApiClient,
  ask,
  attempt,
  type CSIStorageCapacity,
  csiStorageCapacities,
  type Facts,
  ignoreNotFound,
  type Performers,
  writeObject,
} from '@csi-sidecars/runtime';
import type { CapacityDeps, CapacityLoop } from './state.ts';

export function performers({ channel, client, timeoutMs }: CapacityDeps): Performers<CapacityLoop> {
  return {
    remove: async ({ action, caches, signal }) => ({
      removed: await attempt(async () => {
        for (const object of action.objects) {
          // The segment or class may be back before the watch brings the deletion: the cache shows it at once.
          await writeObject(caches.objects, object, () => remove(client, object, signal));
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

/** On condition of the UID: an object that was created again under the name is another one. */
function remove(
  client: ApiClient,
  { metadata }: CSIStorageCapacity,
  signal: AbortSignal,
): Promise<CSIStorageCapacity | undefined> {
  const { namespace, name = '', uid } = metadata ?? {};
  const preconditions = uid === undefined ? {} : { uid };
  return client.delete(csiStorageCapacities, { namespace, name }, { preconditions, signal }).catch(ignoreNotFound);
}

function factsOf({ metadata, capacity, storageClassName }: CSIStorageCapacity): Facts {
  return { object: metadata?.name, StorageClass: storageClassName, capacity };
}
