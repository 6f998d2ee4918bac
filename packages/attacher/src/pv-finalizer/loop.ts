// SPDX-License-Identifier: Apache-2.0
/** The PersistentVolume loop assembled: what it watches, and what wakes it. */
import { defineLoop, keyOf, type Loop, toObjectKey } from '@csi-sidecars/runtime';
import { finalizerOf } from '../names.ts';
import type { AttacherSettings } from '../settings.ts';
import { queueNames, type Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { removeOurFinalizer } from './perform.ts';
import { isReleasable } from './releasable.ts';
import type { PvFinalizerLoop } from './state.ts';

export interface PvFinalizerContext {
  readonly driverName: string;
  readonly settings: AttacherSettings;
}

/** Assumes that both caches are synced: a VolumeAttachment that the cache lacks does not hold the finalizer back. */
export function pvFinalizerLoop(
  { driverName, settings }: PvFinalizerContext,
  { volumes, attachments }: Pick<Watched, 'volumes' | 'attachments'>,
): Loop {
  const finalizer = finalizerOf(driverName);
  return defineLoop<PvFinalizerLoop>({
    name: queueNames.volumes,
    settings,
    watches: { volumes, attachments },
    subject: { watch: 'volumes', keyOf },
    wakes: {
      // Volumes that stay, which are nearly all, never reach the queue.
      volumes: ({ current }) =>
        current !== undefined && isReleasable(current, driverName) ? keyOf(current) : undefined,
      // The end of any attacher's attachment may be the end of the wait.
      attachments: ({ previous, current }) => {
        const name = current === undefined ? previous?.spec.source.persistentVolumeName : undefined;
        return name === undefined ? undefined : toObjectKey(undefined, name);
      },
    },
    observe: (caches, key) => ({
      volume: caches.volumes.get(key),
      isAttached: caches.attachments.byIndex('volume', key).length > 0,
      removed: 'untried',
    }),
    decide: (state) => decide(state, driverName),
    perform: { removeFinalizer: (step) => removeOurFinalizer(finalizer, step) },
  });
}
