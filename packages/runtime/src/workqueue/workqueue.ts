// SPDX-License-Identifier: Apache-2.0
import type { WaitingPlace } from './backlog.ts';

/**
 * The keyed work queue (client-go's semantics): a key is never handed to two workers at once, waits at most once, and
 * comes back once when it was added while being processed. Beyond client-go, a worker that had to wait says when its run begins.
 */
export interface WorkQueue<Key extends string> {
  add(key: Key): void;
  /** Earliest ready time wins for a key that already waits. */
  addAfter(key: Key, delayMs: number): void;
  /** `addAfter` with the rate limiter's delay; counts a failure of the key. */
  addRateLimited(key: Key): void;
  forget(key: Key): void;
  numRequeues(key: Key): number;
  /** The next key, or undefined when shut down and empty. Rejects when the signal aborts. */
  get(signal?: AbortSignal): Promise<Key | undefined>;
  /** The worker looks from now on: adds since the hand-out are part of this run. Without it a run begins with the hand-out. */
  begin(key: Key): void;
  done(key: Key): void;
  /** How long the key that is being processed had waited for a worker. 0 for a key that is not. */
  waitedMs(key: Key): number;
  /** Keys ready to be handed out; not those delayed or in processing. */
  readonly length: number;
  /** For questions of people: it may pass over all waiting keys. */
  inspect(key: Key): KeyState;
  /** As `inspect`, of the whole queue. */
  state(): QueueState;
  /** No new keys; what is queued is still handed out. */
  shutDown(): void;
  /** As `shutDown`, and resolves when nothing is in processing any more. */
  shutDownWithDrain(): Promise<void>;
}

/** What the queue knows of one key. Times are monotonic. */
export interface KeyState {
  /** Undefined: it does not wait for a worker. */
  readonly waiting: WaitingPlace | undefined;
  readonly isRunning: boolean;
  /** When a delayed add of it is due; undefined if there is none. */
  readonly dueMs: number | undefined;
}

export interface QueueState {
  /** Keys that wait for a worker. */
  readonly waiting: number;
  /** Keys that workers have. */
  readonly running: number;
  /** When the oldest waiting key became dirty; undefined if none waits. */
  readonly oldestMs: number | undefined;
}

/** Delay before the next try of a key. */
export interface RateLimiter<Key extends string> {
  when(key: Key): number;
  forget(key: Key): void;
  numRequeues(key: Key): number;
}
