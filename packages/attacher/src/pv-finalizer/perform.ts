// SPDX-License-Identifier: Apache-2.0
/** The actions of the PersistentVolume loop. */
import {
  attempt,
  type Cache,
  type ObjectKey,
  persistentVolumes,
  removeFinalizer,
  type Step,
  type VolumeAttachment,
} from '@csi-sidecars/runtime';
import { ignoreGone } from '../ignore-gone.ts';
import * as messages from './messages.ts';
import type { PvFinalizerLoop, ReleaseState } from './state.ts';

export function isAttached(attachments: Pick<Cache<VolumeAttachment>, 'byIndex'>, volumeKey: ObjectKey): boolean {
  return attachments.byIndex('volume', volumeKey).length > 0;
}

/** Removes our finalizer and no other. An object that is gone is not an error: there is nothing left to update. */
export async function removeOurFinalizer(
  finalizer: string,
  { client, logger, caches, key, action: { volume }, signal }: Step<PvFinalizerLoop, 'removeFinalizer'>,
): Promise<Pick<ReleaseState, 'removed'>> {
  const target = { resource: persistentVolumes, object: volume, finalizer };
  const removed = await attempt(async () => {
    const stored = await removeFinalizer({ client, informer: caches.volumes }, target, signal).catch(
      (refusal: unknown) => ignoreGone({ client, signal }, { resource: persistentVolumes, object: volume, refusal }),
    );
    if (stored !== undefined) logger.info(2, 'Removed finalizer from PersistentVolume', { PersistentVolume: key });
  });
  return { removed: removed === 'done' ? removed : { failure: messages.releaseFailed(key, removed.failure) } };
}
