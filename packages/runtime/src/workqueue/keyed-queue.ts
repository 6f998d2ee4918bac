// SPDX-License-Identifier: Apache-2.0
/**
 * The heart of the work queue, with the rules of client-go's queue.go. A key that needs processing ("dirty") is in exactly one
 * of two places:
 *
 *   waiting     to be handed out, in the order of the backlog
 *   processing  handed out, not done, and added again since its run began: it goes back to waiting when done
 *
 * Guarantees: no two workers ever hold the same key, a key waits at most once, and whatever is added after the run of a key
 * has begun causes exactly one more run.
 *
 * Not here: which of the waiting keys is next (backlog.ts, fair-lanes.ts), delays and rate limits (delayed-adds.ts, rate-limiters.ts), metrics families (queue-metrics.ts).
 */
import type { Clock } from '../clock/clock.ts';
import { FirstInFirstOut, type Backlog, type LaneState } from './backlog.ts';
import type { QueueInstruments } from './queue-metrics.ts';
import type { KeyState, QueueState } from './workqueue.ts';

type Waiter<Key> = (key: Key | undefined) => void;

interface Run {
  readonly startedMs: number;
  readonly waitedMs: number;
  /** When the key was added since the run began; undefined when it was not. */
  dirtyMs: number | undefined;
}

export interface KeyedQueueOptions<Key extends string> {
  readonly instruments?: QueueInstruments | undefined;
  /** Default: first in, first out. */
  readonly backlog?: Backlog<Key> | undefined;
  /** Called with each key that a worker gets. */
  readonly onHandOut?: (key: Key) => void;
}

export class KeyedQueue<Key extends string> {
  readonly #clock: Clock;
  readonly #instruments: QueueInstruments | undefined;
  readonly #waiting: Backlog<Key>;
  readonly #onHandOut: ((key: Key) => void) | undefined;
  readonly #processing = new Map<Key, Run>();
  readonly #waiters = new Set<Waiter<Key>>();
  #dirtyRuns = 0;
  #shuttingDown = false;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(clock: Clock, { instruments, backlog = new FirstInFirstOut(), onHandOut }: KeyedQueueOptions<Key> = {}) {
    this.#clock = clock;
    this.#instruments = instruments;
    this.#waiting = backlog;
    this.#onHandOut = onHandOut;
    instruments?.attach(this);
  }

  get length(): number {
    return this.#waiting.length;
  }

  get shuttingDown(): boolean {
    return this.#shuttingDown;
  }

  /** Keys that need processing. It differs from `length` by those that are dirty while in processing. */
  get depth(): number {
    return this.#waiting.length + this.#dirtyRuns;
  }

  /** The time for which each key has been in processing. */
  *runningMs(): Iterable<number> {
    const now = this.#clock.monotonicMs();
    for (const run of this.#processing.values()) yield now - run.startedMs;
  }

  lanes(): readonly LaneState[] {
    return this.#waiting.lanes(this.#clock.monotonicMs());
  }

  add(key: Key): void {
    if (this.#shuttingDown) return;
    const run = this.#processing.get(key);
    if (run === undefined) {
      if (this.#enqueue(key, this.#clock.monotonicMs())) this.#instruments?.added();
    } else if (run.dirtyMs === undefined) {
      run.dirtyMs = this.#clock.monotonicMs();
      this.#dirtyRuns += 1;
      this.#instruments?.added();
    }
  }

  get(signal?: AbortSignal): Promise<Key | undefined> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    if (this.#waiting.length > 0 || this.#shuttingDown) return Promise.resolve(this.#handOut());
    return this.#wait(signal);
  }

  begin(key: Key): void {
    const run = this.#processing.get(key);
    if (run?.dirtyMs === undefined) return;
    run.dirtyMs = undefined;
    this.#dirtyRuns -= 1;
  }

  done(key: Key): void {
    const run = this.#processing.get(key);
    if (run === undefined) return;
    this.#processing.delete(key);
    const workedMs = this.#clock.monotonicMs() - run.startedMs;
    this.#instruments?.worked(workedMs);
    this.#waiting.finished(key, workedMs);
    if (run.dirtyMs === undefined) {
      this.#checkDrained();
      return;
    }
    // No check: a drain ends with nothing in processing, and a key that goes straight back is not finished yet.
    this.#dirtyRuns -= 1;
    this.#enqueue(key, run.dirtyMs);
    // Without a drain no worker takes it any more.
    if (this.#shuttingDown && this.#drained === undefined) this.#detachWhenOver();
  }

  shutDown(): void {
    this.#stop();
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  shutDownWithDrain(): Promise<void> {
    const drained = (this.#drained ??= Promise.withResolvers());
    this.#stop();
    this.#checkDrained();
    return drained.promise;
  }

  waitedMs(key: Key): number {
    return this.#processing.get(key)?.waitedMs ?? 0;
  }

  inspect(key: Key): Pick<KeyState, 'waiting' | 'isRunning'> {
    return { waiting: this.#waiting.placeOf(key), isRunning: this.#processing.has(key) };
  }

  state(): QueueState {
    const oldestMs = this.#waiting.oldestMs();
    return { waiting: this.#waiting.length, running: this.#processing.size, oldestMs };
  }

  /** False when the key waits already. */
  #enqueue(key: Key, dirtyMs: number): boolean {
    if (!this.#waiting.add(key, dirtyMs)) return false;
    const [waiter] = this.#waiters;
    waiter?.(this.#handOut());
    return true;
  }

  #handOut(): Key | undefined {
    const next = this.#waiting.take();
    if (next === undefined) return undefined;
    const now = this.#clock.monotonicMs();
    const waitedMs = now - next.dirtyMs;
    this.#instruments?.waited(waitedMs);
    this.#processing.set(next.key, { startedMs: now, waitedMs, dirtyMs: undefined });
    this.#onHandOut?.(next.key);
    return next.key;
  }

  #wait(signal: AbortSignal | undefined): Promise<Key | undefined> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter<Key> = (key) => {
        leave();
        resolve(key);
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #stop(): void {
    this.#shuttingDown = true;
    for (const waiter of this.#waiters) waiter(undefined);
    this.#detachWhenOver();
  }

  #checkDrained(): void {
    if (!this.#shuttingDown || this.#processing.size > 0) return;
    this.#drained?.resolve();
    this.#detachWhenOver();
  }

  /** The metrics of a queue end with it: a process may create another queue of the same name. */
  #detachWhenOver(): void {
    if (this.#processing.size === 0) this.#instruments?.detach(this);
  }
}
