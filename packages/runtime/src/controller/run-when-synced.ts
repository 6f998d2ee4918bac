// SPDX-License-Identifier: Apache-2.0
import { type SyncedInformer, type SyncLimitDeps, whenAllSynced } from '../informer/sync-limit.ts';

export interface SyncedDeps extends SyncLimitDeps {
  /** Waited for, not run: several controllers may share them. */
  readonly informers: readonly SyncedInformer[];
  /** See `whenAllSynced`. Default 0: no limit. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Caches first, then work: a controller that decides on a half-filled cache deletes what it merely does not know yet. Resolves
 * without having started the work when the signal aborts before all informers and their handlers are synced. Rejects as
 * `whenAllSynced` does.
 */
export async function runWhenSynced(
  { informers, timeoutMs = 0, ...deps }: SyncedDeps,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { logger } = deps;
  logger.info(0, 'Waiting for caches to sync');
  if (!(await whenAllSynced(informers, deps, { timeoutMs, signal })) || signal.aborted) return;
  logger.info(0, 'Caches are synced');
  await work(signal);
}
