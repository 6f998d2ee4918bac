// SPDX-License-Identifier: Apache-2.0
/** A loop as an inspection sees it: its queue, its caches, and how an object leads to its key. */
import type { KubeObject } from '../api/objects.ts';
import type { Inspection, LoopRecord } from '../inspection/inspection.ts';
import type { WorkQueue } from '../workqueue/workqueue.ts';
import type { Caches, LoopSpec, LoopTypes } from './loop.ts';
import { objectsOf } from './trace.ts';
import type { Watching } from './watch.ts';

export interface InspectedParts<Key extends string> {
  readonly watching: Watching;
  readonly queue: WorkQueue<Key>;
}

export function inspectedBy<L extends LoopTypes>(
  inspection: Inspection,
  spec: LoopSpec<L>,
  { watching, queue }: InspectedParts<L['key']>,
): LoopRecord<L['key']> {
  const { name, primary, optional = [], remembered } = spec;
  const { resources, informers } = watching;
  const keyOf = primary?.keyOf as ((object: KubeObject) => L['key']) | undefined;
  const watch = primary?.watch as string | undefined;
  return inspection.loop<L['key']>({
    name,
    workers: spec.workers ?? spec.settings.workerThreads,
    queue,
    caches: [...informers].map(([watched, informer]) => ({
      plural: resources.get(watched)?.plural ?? '',
      isSynced: () => informer.hasSynced,
      isOptional: (optional as readonly PropertyKey[]).includes(watched),
    })),
    plural: watch === undefined ? undefined : resources.get(watch)?.plural,
    find: (objectKey) => {
      const object = watch === undefined ? undefined : watching.caches[watch]?.get(objectKey);
      if (object === undefined || keyOf === undefined) return undefined;
      return { key: keyOf(object), uid: object.metadata?.uid };
    },
    remembered: (key) => remembered?.(key) ?? [],
  });
}

/** Of the object that a run is about. */
export function uidOf<L extends LoopTypes>(spec: LoopSpec<L>, caches: Caches<L>, key: L['key']): string | undefined {
  return objectsOf(spec)(caches, key).object?.metadata?.uid;
}
