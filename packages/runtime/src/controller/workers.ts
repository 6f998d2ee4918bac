// SPDX-License-Identifier: Apache-2.0
/**
 * Workers behind a keyed work queue. A worker is a p-queue task that works through what is waiting and ends when nothing is
 * left, so p-queue bounds how many reconciles run at once, and a key costs no task of its own while the queue is busy.
 *
 * For each key: reconcile, then exactly one of forget, add later, add rate limited, or nothing; then done, whatever happened.
 *
 * | outcome | failures of the key | next run |
 * |---|---|---|
 * | done | forgotten | when the key is added again |
 * | requeueAfter | forgotten | after that time, 10 ms at least |
 * | retry, or anything thrown | one more | after the rate limiter's delay; at the latest after `withinMs` of the outcome |
 * | postpone | one more, but logged as information | after the rate limiter's delay |
 * | dropped | untouched | when the key is added again |
 *
 * Not here: timeouts of operations (reconcile derives its own signals), waiting for caches (run-when-synced.ts).
 */
import { once } from 'node:events';
import PQueue from 'p-queue';
import { isDefect } from '../api/errors.ts';
import type { Facts, Logger } from '../log/logger.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import type { WorkQueue } from '../workqueue/workqueue.ts';
import type { Reconcile } from './reconcile.ts';
import type { RunCounter, RunEnd } from './run-metrics.ts';
import { openGate, type StartGate } from './start-gate.ts';

export interface WorkersOptions<Key extends string> {
  readonly queue: WorkQueue<Key>;
  readonly reconcile: Reconcile<Key>;
  /** How many keys are worked on at the same time. */
  readonly workers: number;
  /** Causes of retries and defects are logged here, so that a reconcile does not have to. */
  readonly logger: Logger;
  /** Asked before each reconcile. Default: always open. */
  readonly gate?: StartGate | undefined;
  /** Facts that stand beside the key in log lines. Default: none. */
  readonly describe?: (key: Key) => Facts;
  /** What is logged with the cause of a retry. Default: `Reconcile failed, will retry`. */
  readonly retryMessage?: string | undefined;
  /** Default: runs are not counted. */
  readonly runs?: RunCounter | undefined;
}

/**
 * Works until the signal aborts; resolves when no reconcile runs any more.
 *
 * From the abort on no key is handed out, and the queue takes none. Running reconciles go on to their end if the reason is an
 * `OrderlyStop`; for any other reason their signal aborts too. Either way a reconcile holds its slot until it settles: how
 * long that may take is limited by the code that ends the process.
 */
export async function runWorkers<Key extends string>(options: WorkersOptions<Key>, signal: AbortSignal): Promise<void> {
  const { queue, workers, gate = openGate } = options;
  const cut = new AbortController();
  const stop = (): void => {
    queue.shutDown();
    if (!(signal.reason instanceof OrderlyStop)) cut.abort(signal.reason);
  };
  if (signal.aborted) {
    stop();
    return;
  }
  signal.addEventListener('abort', stop);
  const pool = new PQueue({ concurrency: workers });
  try {
    for (;;) {
      if (pool.pending >= workers) await once(pool, 'next');
      const first = await next();
      if (first === undefined) break;
      void pool.add(() => work(first));
    }
    await pool.onIdle();
  } finally {
    signal.removeEventListener('abort', stop);
  }

  async function work(first: Key): Promise<void> {
    for (let key: Key | undefined = first; key !== undefined; key = queue.length > 0 ? await next() : undefined) {
      try {
        if (await mayStart()) await reconcileOnce(options, { key, signal: cut.signal });
      } finally {
        queue.done(key);
      }
    }
  }

  /** After an abort no key is handed out: a queue that is shut down would hand out those that wait. */
  async function next(): Promise<Key | undefined> {
    return signal.aborted ? undefined : queue.get();
  }

  /** Asked with the key in hand: it may have been handed out in the very moment of the abort. */
  async function mayStart(): Promise<boolean> {
    if (!gate.open && !signal.aborted) await gate.whenOpen(signal).catch(() => undefined);
    return !signal.aborted;
  }
}

/** A key that asks for its next run at once lets the event loop turn: timers, other keys and health checks come before it. */
const soonestMs = 10;

interface Run<Key> {
  readonly key: Key;
  readonly signal: AbortSignal;
}

async function reconcileOnce<Key extends string>(
  options: WorkersOptions<Key>,
  { key, signal }: Run<Key>,
): Promise<void> {
  const { queue, reconcile, logger, describe, retryMessage = 'Reconcile failed, will retry', runs } = options;
  const facts = (): Facts => ({ key, ...describe?.(key), failures: queue.numRequeues(key) });
  const ended = runs?.began();
  let end: RunEnd | undefined;
  try {
    const outcome = await reconcile(key, signal);
    end = outcome.kind;
    switch (outcome.kind) {
      case 'done':
        queue.forget(key);
        return;
      case 'requeueAfter':
        queue.forget(key);
        queue.addAfter(key, Math.max(outcome.afterMs, soonestMs));
        return;
      case 'retry':
        queue.addRateLimited(key);
        if (outcome.withinMs !== undefined) queue.addAfter(key, outcome.withinMs);
        logger.error(outcome.cause, retryMessage, {
          ...facts(),
          ...(isDefect(outcome.cause) && stackOf(outcome.cause)),
        });
        return;
      case 'postpone':
        queue.addRateLimited(key);
        logger.info(2, `${retryMessage}: postponed`, { ...facts(), reason: outcome.reason });
        return;
      case 'dropped':
    }
  } catch (error) {
    if (signal.aborted) {
      logger.info(4, 'Reconcile was cut off', { key, reason: String(signal.reason) });
      return;
    }
    end = 'defect';
    queue.addRateLimited(key);
    logger.error(error, threwMessage, { ...facts(), ...stackOf(error) });
  } finally {
    ended?.(end);
  }
}

/** Logged for a run that threw, and so has a defect. */
export const threwMessage = 'Reconcile threw, will retry';

function stackOf(error: unknown): { readonly stack?: string } {
  return error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {};
}
