// SPDX-License-Identifier: Apache-2.0
/**
 * Calls handlers for objects that are in the store already: a late handler receives all of them, and so does each handler that
 * is due for a resync.
 */
import type { KubeObject } from '../api/objects.ts';
import type { Clock } from '../clock/clock.ts';
import { createBudget } from './budget.ts';
import type { Distributor, Subscriber } from './distributor.ts';
import type { ReadonlyObjects } from './objects-by-key.ts';
import { pause } from '../clock/deadline.ts';
import type { KeyedLock } from '../workqueue/keyed-lock.ts';

export interface ReplayDeps<T extends KubeObject> {
  readonly clock: Clock;
  readonly lock: KeyedLock<'content'>;
  readonly distributor: Pick<Distributor<T>, 'deliverTo'>;
  readonly objects: () => ReadonlyObjects<T>;
  readonly stopped: () => boolean;
}

export interface ResyncRound<T extends KubeObject> {
  readonly due: ReadonlySet<Subscriber<T>>;
  readonly spreadMs: number;
  readonly signal: AbortSignal;
}

export interface Replay<T extends KubeObject> {
  /** Adds every object for a new subscriber, then makes it live. Changes wait meanwhile. */
  catchUp(subscriber: Subscriber<T>): Promise<void>;
  /** Updates from each object to itself. A large store is replayed over the given time, and changes pass in between. */
  resync(round: ResyncRound<T>): Promise<void>;
}

const sliceSize = 500;
/** The maximum number of objects in one burst. */
const burstSize = 1_000;

export function createReplay<T extends KubeObject>(deps: ReplayDeps<T>): Replay<T> {
  const { clock, lock, distributor, objects, stopped } = deps;

  /** False when there is nothing left. */
  const replaySlice = (rest: Iterator<T>, { due, signal }: ResyncRound<T>): boolean => {
    for (let count = 0; count < sliceSize; count += 1) {
      const { done, value: object } = rest.next();
      if (done === true || stopped() || signal.aborted) return false;
      // A handler that is due has caught up: its turn came before this one.
      for (const subscriber of due) {
        distributor.deliverTo(subscriber, { kind: 'update', previous: object, current: object });
      }
    }
    return true;
  };

  return {
    catchUp: (subscriber) =>
      lock.run('content', async () => {
        const budget = createBudget(clock);
        for (const object of objects()) {
          distributor.deliverTo(subscriber, { kind: 'add', object, isInInitialList: true });
          await budget.spend();
          if (stopped() || subscriber.phase === 'removed') return;
        }
        subscriber.phase = 'live';
      }),

    async resync(round) {
      const current = objects();
      const pauseMs = current.size > burstSize ? round.spreadMs / Math.ceil(current.size / sliceSize) : 0;
      const rest = current[Symbol.iterator]();
      while (await lock.run('content', () => replaySlice(rest, round))) {
        await (pauseMs === 0 ? clock.yieldToLoop() : pause(clock, pauseMs, round.signal));
      }
    },
  };
}
