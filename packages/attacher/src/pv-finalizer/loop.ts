// SPDX-License-Identifier: Apache-2.0
/** Assembles the PersistentVolume loop: what it watches, and what wakes it. */
import { defineLoop, keyOf, type Loop, toObjectKey } from '@csi-sidecars/runtime';
import { finalizerOf } from '../names.ts';
import type { AttacherSettings } from '../settings.ts';
import { queueNames, type Watched } from '../watched.ts';
import { decide } from './decide.ts';
import { isAttached, removeOurFinalizer } from './perform.ts';
import { isReleasable } from './releasable.ts';
import type { PvFinalizerLoop } from './state.ts';

export interface PvFinalizerContext {
  readonly driverName: string;
  readonly settings: AttacherSettings;
}

/** Assumes that both caches are synced. */
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
      isAttached: isAttached(caches.attachments, key),
      removed: 'untried',
    }),
    decide: (state) => decide(state, driverName),
    perform: {
      removeFinalizer: (step) => removeOurFinalizer(finalizer, step),
    },
  });
}
