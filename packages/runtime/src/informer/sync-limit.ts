// SPDX-License-Identifier: Apache-2.0
/** A limit of the time until caches have synced: `CacheSyncTimeout` of controller-runtime, but for lists that are still arriving. */
import type { Clock } from '../clock/clock.ts';
import { linkSignals } from '../clock/deadline.ts';
import type { KubeObject } from '../api/objects.ts';
import { hintOf } from './reflector/log-step.ts';
import type { Informer, SyncProgress } from './informer.ts';
import type { Logger } from '../log/logger.ts';

/** `progress` says why it has not synced. */
export type SyncedInformer = Pick<Informer<KubeObject>, 'whenSynced' | 'progress'>;

export interface SyncLimitDeps {
  readonly clock: Pick<Clock, 'timer'>;
  readonly logger: Logger;
}

/** A server that accepts a watch and sends nothing is asked for a list after 150 s: the two minutes of controller-runtime would end the program before. */
export const defaultSyncTimeoutMs = 300_000;

export interface SyncLimit {
  /** 0: no limit. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * True if all have synced, false if one of them never will or the signal aborts first. Rejects if nothing of one that has not synced has arrived for
 * `timeoutMs`; a line of the log names each of these, with its last failure.
 */
export async function whenAllSynced(
  informers: readonly SyncedInformer[],
  { clock, logger }: SyncLimitDeps,
  { timeoutMs, signal }: SyncLimit,
): Promise<boolean> {
  using linked = linkSignals([signal]);
  const late = Promise.withResolvers<never>();
  /** How much had arrived when it was looked at last. */
  const waiting = new Map(informers.map((informer) => [informer, 0]));
  const check = (): void => {
    const stuck: SyncProgress[] = [];
    for (const [informer, before] of waiting) {
      const { progress = unknown } = informer;
      if (progress.received === before) stuck.push(progress);
      waiting.set(informer, progress.received ?? before);
    }
    if (stuck.length > 0) late.reject(failed(stuck));
    else timer = clock.timer(timeoutMs, check);
  };
  const failed = (stuck: readonly SyncProgress[]): Error => {
    const seconds = timeoutMs / 1000;
    for (const { collection: reflector, failure } of stuck) {
      logger.error(failure, 'The cache has not synced', { reflector, seconds, ...hintOf(failure) });
    }
    const names = stuck.map(({ collection }) => collection).join(', ');
    return new Error(`caches have not synced within ${seconds} s: ${names}`);
  };
  let timer = timeoutMs === 0 ? undefined : clock.timer(timeoutMs, check);
  try {
    const all = informers.map(async (informer) => {
      const isSynced = await informer.whenSynced(linked.signal);
      waiting.delete(informer);
      return isSynced;
    });
    return (await Promise.race([Promise.all(all), late.promise])).every(Boolean);
  } finally {
    timer?.cancel();
  }
}

const unknown: SyncProgress = { collection: 'unknown', received: 0, failure: undefined };
