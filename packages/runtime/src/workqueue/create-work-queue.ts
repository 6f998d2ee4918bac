// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import { DelayedAdds } from './delayed-adds.ts';
import { FairLanes, type LanesOptions } from './fair-lanes.ts';
import { KeyedQueue } from './keyed-queue.ts';
import type { WorkQueueMetrics } from './queue-metrics.ts';
import type { RateLimiter, WorkQueue } from './workqueue.ts';

export interface WorkQueueDeps {
  readonly clock: Clock;
  /** From `createWorkQueueMetrics`, once per registry. */
  readonly queueMetrics?: WorkQueueMetrics;
  /** Logs an error if a key cannot be assigned to a lane. */
  readonly logger?: Logger;
}

export interface WorkQueueOptions<Key extends string> {
  /** The label of the metrics. Without a name the queue has no metrics. */
  readonly name?: string;
  readonly rateLimiter: RateLimiter<Key>;
  /** The lane that gets free slots first. Default: keys are handed out in the order in which they were added. */
  readonly lanes?: LanesOptions<Key>;
}

/**
 * A work queue: the keyed queue, with delayed and rate limited adds in front. After a shut-down, delayed keys are dropped and
 * adds are ignored.
 */
export function createWorkQueue<Key extends string>(
  { clock, queueMetrics, logger }: WorkQueueDeps,
  { name = '', rateLimiter, lanes }: WorkQueueOptions<Key>,
): WorkQueue<Key> {
  const instruments = queueMetrics?.forQueue(name);
  const onDefect = (error: unknown, key: Key): void =>
    logger?.error(error, 'Cannot assign a key to a lane, it waits in the lane that is not preferred', { key });
  const backlog = lanes === undefined ? undefined : new FairLanes<Key>({ onDefect, ...lanes });
  // The run that begins decides when the key is looked at next. Without this, a failed run would be repeated at the ready time of
  // a delay that was asked for before it.
  const queue = new KeyedQueue<Key>(clock, { instruments, backlog, onHandOut: (key) => delayed.delete(key) });
  const delayed = new DelayedAdds<Key>(clock, (key) => queue.add(key));

  const addAfter = (key: Key, delayMs: number): void => {
    // In the order of the waiting keys it would hold up all that come after it.
    if (Number.isNaN(delayMs)) throw new RangeError('the delay of a key is not a number');
    if (queue.shuttingDown) return;
    instruments?.retried();
    if (delayMs <= 0) queue.add(key);
    else delayed.add(key, delayMs);
  };

  return {
    add: (key) => queue.add(key),
    addAfter,
    addRateLimited: (key) => addAfter(key, rateLimiter.when(key)),
    forget: (key) => rateLimiter.forget(key),
    numRequeues: (key) => rateLimiter.numRequeues(key),
    get: (signal) => queue.get(signal),
    begin: (key) => queue.begin(key),
    done: (key) => queue.done(key),
    waitedMs: (key) => queue.waitedMs(key),
    inspect: (key) => ({ ...queue.inspect(key), dueMs: delayed.readyMs(key) }),
    state: () => queue.state(),
    get length() {
      return queue.length;
    },
    shutDown: () => {
      delayed.clear();
      queue.shutDown();
    },
    shutDownWithDrain: () => {
      delayed.clear();
      return queue.shutDownWithDrain();
    },
  };
}
