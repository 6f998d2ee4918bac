// SPDX-License-Identifier: Apache-2.0
/** The span of a run of a keyed loop, with what its queue and its caches know about the key. */
import type { WorkQueue } from '../workqueue/workqueue.ts';
import { RunTrace } from '../tracing/run-trace.ts';
import { namesOf, subjectOf } from '../tracing/subject.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { Caches, LoopSpec, LoopTypes, TracedObjects } from './loop.ts';

export type TracedQueue<Key extends string> = Pick<WorkQueue<Key>, 'numRequeues' | 'waitedMs'>;

/** Undefined: the tracer records nothing of this run. */
export function startTrace<L extends LoopTypes>(
  tracer: Tracer,
  spec: LoopSpec<L>,
  { caches, queue, key }: { readonly caches: Caches<L>; readonly queue: TracedQueue<L['key']>; readonly key: L['key'] },
): RunTrace | undefined {
  const { object, volume } = objectsOf(spec)(caches, key);
  const span = tracer.start(
    `reconcile ${spec.name}`,
    {
      'csi_sidecars.queue': spec.name,
      'csi_sidecars.key': key,
      'csi_sidecars.attempt': queue.numRequeues(key) + 1,
      'csi_sidecars.queued_ms': Math.round(queue.waitedMs(key)),
      'csi_sidecars.lane': laneOf(spec, caches, key),
      ...namesOf(object, volume),
    },
    subjectOf(object, volume),
  );
  return span && new RunTrace(span);
}

/** A key that has no lane is logged by the queue. */
function laneOf<L extends LoopTypes>({ lanes }: LoopSpec<L>, caches: Caches<L>, key: L['key']): string | undefined {
  try {
    return lanes?.classify(caches, key).lane;
  } catch {
    return undefined;
  }
}

/** The objects of a key, as the loop names them, or that of its primary. */
export function objectsOf<L extends LoopTypes>({ primary, traced }: LoopSpec<L>): TracesOf<L> {
  return traced ?? ((caches, key) => ({ object: primary && caches[primary.watch].get(key as never) }));
}

type TracesOf<L extends LoopTypes> = (caches: Caches<L>, key: L['key']) => TracedObjects;
