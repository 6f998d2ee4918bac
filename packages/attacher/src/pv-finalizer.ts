// SPDX-License-Identifier: Apache-2.0
/**
 * The PersistentVolume loop: removes our finalizer from a PersistentVolume that no detach will need any more. Rows F1 to F4 of
 * docs/behaviour/attacher.md, which also explains why that is safe while caches lag. Assumes that both caches are synced.
 *
 * Not here: adding the finalizer, which is a step of the attachment (`attach/`).
 */
import {
  conclude,
  type Conclusion,
  defineLoop,
  done,
  type Flow,
  keyOf,
  type Loop,
  type LoopTypes,
  type ObjectKey,
  orEnd,
  perform,
  type PersistentVolume,
  persistentVolumes,
  removeFinalizer,
  retry,
  type Run,
  toObjectKey,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { isInTree } from '@csi-sidecars/volume';
import { ignoreGone } from './ignore-gone.ts';
import { annotations, finalizerOf } from './names.ts';
import type { AttacherSettings } from './settings.ts';
import { queueNames, type Watched } from './watched.ts';

interface PvFinalizerLoop extends LoopTypes {
  readonly key: ObjectKey;
  readonly watched: {
    readonly volumes: PersistentVolume;
    /** The VolumeAttachments of every attacher, with the index `volume`. */
    readonly attachments: VolumeAttachment;
  };
  readonly observed: Observed;
  readonly conclusion: Conclusion;
  readonly context: PvFinalizerContext;
}

interface Observed {
  /** Undefined if the PersistentVolume is gone. */
  readonly volume: PersistentVolume | undefined;
  /** A VolumeAttachment of any attacher, in any state, names the volume. */
  readonly isAttached: boolean;
}

export interface PvFinalizerContext {
  readonly driverName: string;
  readonly settings: AttacherSettings;
}

export function pvFinalizerLoop(
  context: PvFinalizerContext,
  { volumes, attachments }: Pick<Watched, 'volumes' | 'attachments'>,
): Loop {
  const { driverName, settings } = context;
  return defineLoop<PvFinalizerLoop>({
    name: queueNames.volumes,
    settings,
    watches: { volumes, attachments },
    primary: { watch: 'volumes', keyOf },
    handlers: {
      // Nearly all changes are of volumes that keep our finalizer. Those never reach the queue.
      volumes: ({ current }) =>
        current !== undefined && isReleasable(current, driverName) ? keyOf(current) : undefined,
      // A volume may wait for the end of an attachment of any attacher.
      attachments: ({ previous, current }) => {
        const name = current === undefined ? previous?.spec.source.persistentVolumeName : undefined;
        return name === undefined ? undefined : toObjectKey(undefined, name);
      },
    },
    observe: (caches, key) => ({
      volume: caches.volumes.get(key),
      isAttached: caches.attachments.byIndex('volume', key).length > 0,
    }),
    context,
    flow: (observed) => release(observed, driverName),
  });
}

export function* release({ volume, isAttached }: Observed, driverName: string): Flow<Conclusion> {
  if (volume === undefined || !isReleasable(volume, driverName)) return conclude('F1', done);
  if (isAttached) return conclude('F2', done);
  yield* orEnd(perform('F3', removeOurFinalizer, volume), (failure) => conclude('F4', retry(failure)));
  return conclude('F4', done);
}

/** True if the volume has our finalizer and either is being deleted, or is an in-tree volume that is not migrated to us. */
function isReleasable(volume: PersistentVolume, driverName: string): boolean {
  const { deletionTimestamp, finalizers = [], annotations: marks } = volume.metadata ?? {};
  if (!finalizers.includes(finalizerOf(driverName))) return false;
  return deletionTimestamp !== undefined || (isInTree(volume) && marks?.[annotations.migratedTo] !== driverName);
}

/** Removes our finalizer and no other. An object that is gone is not an error: there is nothing left to update. */
export async function removeOurFinalizer(
  { client, clock, random, logger, caches, key, signal, context }: Run<PvFinalizerLoop>,
  volume: PersistentVolume,
): Promise<void> {
  const target = { resource: persistentVolumes, object: volume, finalizer: finalizerOf(context.driverName) };
  try {
    const deps = { client, clock, random, cache: caches.volumes };
    const stored = await removeFinalizer(deps, target, signal).catch((refusal: unknown) =>
      ignoreGone({ client, signal }, { resource: persistentVolumes, object: volume, refusal }),
    );
    if (stored !== undefined) logger.info(2, 'Removed finalizer from PersistentVolume', { PersistentVolume: key });
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`could not remove the finalizer from PersistentVolume ${key}: ${message}`, { cause });
  }
}
