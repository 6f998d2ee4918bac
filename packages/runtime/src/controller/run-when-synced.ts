// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from '../api/objects.ts';
import type { Informer } from '../informer/informer.ts';
import type { Logger } from '../log/logger.ts';

export interface SyncedDeps {
  readonly logger: Logger;
  /** Waited for, not run: several controllers may share them. */
  readonly informers: readonly Pick<Informer<KubeObject>, 'whenSynced'>[];
}

/**
 * Caches first, then work: a controller that decides on a half-filled cache deletes what it merely does not know yet. Resolves
 * without having started the work when the signal aborts before all informers and their handlers are synced.
 */
export async function runWhenSynced(
  { logger, informers }: SyncedDeps,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  logger.info(0, 'Waiting for caches to sync');
  const synced = await Promise.all(informers.map((informer) => informer.whenSynced(signal)));
  if (signal.aborted || synced.includes(false)) return;
  logger.info(0, 'Caches are synced');
  await work(signal);
}
