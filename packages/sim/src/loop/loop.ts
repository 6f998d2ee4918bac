// SPDX-License-Identifier: Apache-2.0
/** The frame of every simulated controller: informers fill a queue, workers take keys from it, failed keys are retried. */
import {
  isConflict,
  isNotFound,
  keyOf,
  retryLimiter,
  linkSignals,
  requeueAfter,
  retry,
  type ApiClient,
  type Clock,
  type EventRecorder,
  type Informer,
  type InformerFactory,
  type KubeObject,
  type Logger,
  type ObjectKey,
  type Outcome,
  type Random,
} from '@csi-sidecars/runtime';
import { createWorkQueue, runWhenSynced, runWorkers, type Handler } from '@csi-sidecars/runtime/internal';
import { openGate, type StartGate } from '@csi-sidecars/runtime/internal';
import { isOperational } from './persistently.ts';

/** The parts of a simulated controller. */
export interface SimDeps {
  readonly client: ApiClient;
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
}

export interface SimController {
  /** Runs until the signal aborts, and resolves when nothing is left running. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface Loop extends SimController {
  readonly enqueue: (key: ObjectKey) => void;
}

export interface LoopOptions {
  readonly name: string;
  /** Awaited before the first key is taken. */
  readonly informers: readonly Pick<Informer<KubeObject>, 'whenSynced'>[];
  readonly reconcile: (key: ObjectKey, signal: AbortSignal) => Promise<Outcome>;
  /** Default 4. */
  readonly workers?: number;
  /** Awaited before each key. Default: always open. */
  readonly gate?: StartGate;
}

const firstRetryMs = 50;
const lastRetryMs = 5_000;
/** A write that lost a race: the cache needs a moment to receive the winning write. */
const afterConflictMs = 20;

export function createLoop({ clock, random, logger }: SimDeps, options: LoopOptions): Loop {
  const rateLimiter = retryLimiter<ObjectKey>({ startMs: firstRetryMs, maxMs: lastRetryMs, random });
  const queue = createWorkQueue<ObjectKey>({ clock }, { name: options.name, rateLimiter });
  const named = logger.with({ controller: options.name });

  async function reconcile(key: ObjectKey, signal: AbortSignal): Promise<Outcome> {
    try {
      return await options.reconcile(key, signal);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return requeueAfter(afterConflictMs);
      if (isOperational(error)) return retry(error);
      throw error;
    }
  }

  return {
    enqueue: (key) => queue.add(key),
    async run(signal) {
      // Many nodes share the signal, and each wait for a key listens to it: a list of listeners that long is slow.
      using own = linkSignals([signal]);
      await runWhenSynced(
        { clock, logger: named, informers: options.informers },
        (inner) =>
          runWorkers(
            { queue, reconcile, logger: named, workers: options.workers ?? 4, gate: options.gate ?? openGate },
            inner,
          ),
        own.signal,
      );
    },
  };
}

/** Enqueues the keys that `keysOf` derives, for every change; an update enqueues the keys of the old and the new object. */
export function enqueueFor<T extends KubeObject>(loop: Loop, keysOf: (object: T) => readonly ObjectKey[]): Handler<T> {
  const enqueue = (object: T): void => keysOf(object).forEach(loop.enqueue);
  return {
    add: enqueue,
    update(previous, current) {
      enqueue(previous);
      enqueue(current);
    },
    delete: ({ object }) => enqueue(object),
  };
}

export function ownKey(object: KubeObject): readonly ObjectKey[] {
  return [keyOf(object)];
}
