// SPDX-License-Identifier: Apache-2.0
/** The volume loop: its watches, the changes that wake it, and the effects at the end of a run. */
import {
  type ConcludedRun,
  defineLoop,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  toObjectKey,
} from '@csi-sidecars/runtime';
import { volumeFinalizer } from '../names.ts';
import type { Watched } from '../watched.ts';
import { type Conclusion, lookAfter } from './flow.ts';
import { look, type Observed, type VolumeContext, type VolumeWatched } from './steps.ts';
import { isToBeDeleted, needsWork } from './volume.ts';

interface VolumeLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: VolumeWatched;
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: VolumeContext;
}

export function volumeLoop(context: VolumeContext, { volumes, classes, attachments }: Watched): Loop {
  const { settings, sharedRelease } = context;
  const loop = defineLoop<VolumeLoop>({
    name: 'volumes',
    settings,
    watches: { volumes, classes, attachments },
    primary: { watch: 'volumes', keyOf, forget: (key) => context.turns.forget(key) },
    handlers: {
      // Bound volumes with the right finalizer, which are nearly all, never reach the queue.
      volumes: ({ current }) => (current !== undefined && needsWork(current) ? keyOf(current) : undefined),
      // A volume that waited for its last attachment does not wait for its backoff as well.
      attachments: ({ previous, current }, caches) => {
        if (current !== undefined) return undefined;
        const volume = caches.volumes.get(toObjectKey(undefined, previous?.spec.source.persistentVolumeName ?? ''));
        return volume !== undefined && isToBeDeleted(volume) ? keyOf(volume) : undefined;
      },
    },
    observe: (caches, key) => {
      const observed = look({ context, caches, key });
      if (observed === undefined) context.turns.forget(key);
      return observed;
    },
    context,
    flow: (observed) => lookAfter(observed, context),
    onConclude: (run) => conclude(context, run),
    retryMessage: 'Retrying syncing volume',
    describe: (_caches, key) => ({ PV: key }),
  });
  return sharedRelease?.taking(loop, volumeFinalizer) ?? loop;
}

function conclude(
  { events, metrics, capacity }: VolumeContext,
  { key, observed: { volume }, conclusion, durationMs, logger, caches }: ConcludedRun<VolumeLoop>,
): void {
  for (const event of conclusion.events) events.record(volume, event);
  if (conclusion.counts === 'success') {
    metrics.deleted(volume, durationMs);
    logger.info(4, 'PersistentVolume deleted succeeded', { PV: key });
  }
  if (conclusion.counts === 'failure') metrics.deleteFailed(volume);
  if (conclusion.capacity !== undefined) capacity.changed(conclusion.capacity, caches.classes.list(), logger);
}
