// SPDX-License-Identifier: Apache-2.0
/** What each step of the capacity loop does. No decisions: those are in `flow.ts`. */
import type { CsiChannel, RequestOf } from '@csi-sidecars/csi';
import {
  type ApiClient,
  type CSIStorageCapacity,
  csiStorageCapacities,
  type Facts,
  type Run,
  type StorageClass,
  toObjectKey,
  type Trigger,
  writeObject,
} from '@csi-sidecars/runtime';
import { deleteObject } from '../delete-object.ts';
import type { SegmentSource } from '../topology/segments.ts';

import { type CapacityTarget, counts, type ItemKey, splitItem } from './items.ts';
import { byAge, type Management, type Reported } from './object.ts';
import type { Term } from '../topology/terms.ts';

export interface CapacityDeps {
  readonly target: CapacityTarget;
  readonly management: Management;
  readonly segments: SegmentSource;
  readonly channel: CsiChannel;
  /** With a rate limit of its own. */
  readonly client: ApiClient;
  readonly timeoutMs: number;
  readonly items: Trigger<ItemKey>;
}

export interface CapacityWatched {
  readonly classes: StorageClass;
  /** The managed objects, with the indexes `item` and `class`. */
  readonly objects: CSIStorageCapacity;
}

export interface Observed {
  readonly className: string;
  /** Whether a pass over the nodes has ended. */
  readonly knowsSegments: boolean;
  /** Undefined: no node has it. */
  readonly segment: Term | undefined;
  /** Undefined: it does not exist, or does not count. */
  readonly storageClass: StorageClass | undefined;
  /** The managed objects of the item. The first is the one to keep. */
  readonly objects: readonly CSIStorageCapacity[];
}

export type CapacityRun = Run<{
  readonly key: ItemKey;
  readonly watched: CapacityWatched;
  readonly context: CapacityDeps;
}>;

export function look({
  context: { target, segments },
  caches,
  key,
}: Pick<CapacityRun, 'caches' | 'key'> & {
  readonly context: Pick<CapacityDeps, 'target' | 'segments'>;
}): Observed {
  const { className, segment } = splitItem(key);
  const known = segments.current();
  const storageClass = caches.classes.get(toObjectKey(undefined, className));
  return {
    className,
    knowsSegments: known !== undefined,
    segment: known?.get(segment),
    storageClass: storageClass !== undefined && counts(storageClass, target) ? storageClass : undefined,
    objects: [...caches.objects.byIndex('item', key)].sort(byAge),
  };
}

export async function ask(
  { signal, span, context: { channel, timeoutMs } }: CapacityRun,
  request: RequestOf<'/csi.v1.Controller/GetCapacity'>,
): Promise<Reported> {
  const answer = await channel.call('/csi.v1.Controller/GetCapacity', request, { timeoutMs, signal, span });
  const { available_capacity: available, maximum_volume_size: maximum } = answer;
  return { available: BigInt(available), maximum: maximum === null ? undefined : BigInt(maximum.value) };
}

/** The segment or class may be back before the watch brings the deletion: the cache shows it at once. */
export async function remove(
  { caches, signal, span, context: { client } }: CapacityRun,
  objects: readonly CSIStorageCapacity[],
): Promise<void> {
  for (const object of objects) {
    await deleteObject({ client, cache: caches.objects }, { resource: csiStorageCapacities, object }, { signal, span });
  }
}

/** Until the watch brings it, the object must not be created a second time: the cache shows it at once. */
export async function create(
  { caches, signal, span, logger, context: { client } }: CapacityRun,
  object: CSIStorageCapacity,
): Promise<void> {
  const send = (): Promise<CSIStorageCapacity> => client.create(csiStorageCapacities, object, { signal, span });
  logger.info(5, 'Created CSIStorageCapacity', factsOf(await writeObject(caches.objects, object, send)));
}

export async function update(
  { caches, signal, span, logger, context: { client } }: CapacityRun,
  object: CSIStorageCapacity,
): Promise<void> {
  const send = (): Promise<CSIStorageCapacity> => client.update(csiStorageCapacities, object, { signal, span });
  logger.info(5, 'Updated CSIStorageCapacity', factsOf(await writeObject(caches.objects, object, send)));
}

function factsOf({ metadata, capacity, storageClassName }: CSIStorageCapacity): Facts {
  return { object: metadata?.name, StorageClass: storageClassName, capacity };
}
