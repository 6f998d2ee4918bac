// SPDX-License-Identifier: Apache-2.0
/** The volume loop assembled: what wakes it, one run, and what a run leaves behind. */
import {
  type Clock,
  done,
  type EventRecorder,
  type Handler,
  type Lister,
  type Outcome,
  type PersistentVolume,
  type Reconcile,
  runDecisions,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import type { ProvisionerMetrics } from '../metrics.ts';
import { decide } from './decide.ts';
import { observe, type ObserveDeps } from './observe.ts';
import { perform, type PerformDeps } from './perform.ts';
import {
  type Action,
  type Conclusion,
  nameOf,
  nothingLearned,
  type VolumeContext,
  type VolumeName,
  type VolumeState,
} from './state.ts';
import { isToBeDeleted, needsWork } from './volume.ts';

export interface VolumeLoopDeps extends PerformDeps {
  readonly clock: Clock;
  readonly caches: ObserveDeps;
  readonly context: VolumeContext;
  readonly events: EventRecorder;
  readonly metrics: ProvisionerMetrics;
}

export function createVolumeReconcile(deps: VolumeLoopDeps): Reconcile<VolumeName> {
  // The patch that takes the last finalizer off is answered with the version that the cache has already, so only the
  // watch can tell that the object is gone. Until then a change that came in meanwhile must not delete the volume once more.
  const finished = new Map<VolumeName, string | undefined>();
  return async (name, signal) => {
    const startedMs = deps.clock.monotonicMs();
    const found = observe(deps.caches, name);
    const uid = found?.volume.metadata?.uid;
    if (found !== undefined && finished.has(name) && finished.get(name) === uid) return done;
    finished.delete(name);
    if (found === undefined) return done; // V1
    const initial: VolumeState = { ...found, ...nothingLearned };
    const { state, conclusion } = await runDecisions<VolumeState, Action>(initial, {
      subject: `volume ${name}`,
      decide: (known) => decide(known, deps.context),
      perform: async (action, known) => {
        const next: VolumeState = { ...known, ...(await perform(deps, known, { action, signal })) };
        // Until the volume is deleted the caches are asked again: the policy may have become Retain while a secret was read.
        return next.deletion === 'untried' ? { ...next, ...observe(deps.caches, name) } : next;
      },
    });
    // Only while the cache has it: then its end is still to come, and takes this entry away.
    if (conclusion.counts === 'success' && observe(deps.caches, name) !== undefined) finished.set(name, uid);
    return conclude(deps, state, { conclusion, startedMs });
  };
}

function conclude(
  { events, metrics, clock, logger }: VolumeLoopDeps,
  { volume }: VolumeState,
  { conclusion, startedMs }: { readonly conclusion: Conclusion; readonly startedMs: number },
): Outcome {
  for (const event of conclusion.events) events.record(volume, event);
  if (conclusion.counts === 'success') {
    metrics.deleted(volume, clock.monotonicMs() - startedMs);
    logger.info(4, 'PersistentVolume deleted succeeded', { PV: volume.metadata?.name });
  }
  if (conclusion.counts === 'failure') metrics.deleteFailed(volume);
  return conclusion.outcome;
}

/** Bound volumes with the right finalizer, which are nearly all, never reach the queue. One that is gone does, to be forgotten. */
export function volumeHandler(enqueue: (name: VolumeName) => void): Handler<PersistentVolume> {
  const consider = (volume: PersistentVolume): void => {
    if (needsWork(volume)) enqueue(nameOf(volume));
  };
  return {
    add: consider,
    update: (_previous, current) => consider(current),
    delete: ({ object }) => enqueue(nameOf(object)),
  };
}

/** A volume that waited for its last attachment need not wait for its backoff as well. */
export function attachmentHandler(
  volumes: Lister<PersistentVolume>,
  enqueue: (name: VolumeName) => void,
): Handler<VolumeAttachment> {
  return {
    delete: ({ object }) => {
      const volume = volumes.get(toObjectKey(undefined, object.spec.source.persistentVolumeName ?? ''));
      if (volume !== undefined && isToBeDeleted(volume)) enqueue(nameOf(volume));
    },
  };
}
