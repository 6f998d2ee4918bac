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
  volumeAttachments,
} from '@csi-sidecars/runtime';
import { ignoreGone } from '../ignore-gone.ts';
import * as messages from './messages.ts';
import type { PvFinalizerLoop, ReleaseMemory, ReleaseState } from './state.ts';

export function isAttached(attachments: Pick<Cache<VolumeAttachment>, 'byIndex'>, volumeKey: ObjectKey): boolean {
  return attachments.byIndex('volume', volumeKey).length > 0;
}

/** Upstream's page size. */
const pageSize = 500;

/**
 * Once in the life of a process. A server without streaming lists may fill a cache with what was true some time ago: without an attachment
 * that an earlier process has attached since, whose detach needs the volume.
 */
export async function readAttachments(
  memory: ReleaseMemory,
  { client, caches, key, signal }: Step<PvFinalizerLoop, 'readAttachments'>,
): Promise<Partial<ReleaseState>> {
  const read = async (): Promise<void> => {
    let next: string | undefined;
    do {
      const page = await client.list(
        volumeAttachments,
        { limit: pageSize, ...(next !== undefined && { continue: next }) },
        { signal },
      );
      for (const attachment of page.items) caches.attachments.remember(attachment);
      next = page.continue;
    } while (next !== undefined);
    memory.isConfirmed = true;
  };
  memory.reading ??= read().finally(() => {
    memory.reading = undefined;
  });
  const { reading } = memory;
  const confirmed = await attempt(() => reading);
  const { isConfirmed } = memory;
  return { confirmed, isConfirmed, isAttached: isAttached(caches.attachments, key) };
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
