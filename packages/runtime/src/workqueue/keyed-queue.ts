// SPDX-License-Identifier: Apache-2.0
/**
 * The heart of the work queue: three sets, and the rules of client-go's queue.go between them.
 *
 *   waiting     keys to hand out, in order
 *   dirty       keys that need processing: those waiting, and those that were added again while in processing
 *   processing  keys that were handed out and are not done
 *
 * Guarantees: a key is in `waiting` at most once, and never while it is in `processing`; so no two workers ever hold the
 * same key, and whatever is added while a key is being processed causes exactly one more run.
 *
 * Not here: delays and rate limits (delayed-adds.ts, rate-limiters.ts), metrics families (queue-metrics.ts).
 */
import type { Clock } from '../clock/clock.ts';
import { Fifo } from './fifo.ts';
import type { QueueInstruments } from './queue-metrics.ts';

type Waiter<Key> = (key: Key | undefined) => void;

export class KeyedQueue<Key extends string> {
  readonly #clock: Clock;
  readonly #instruments: QueueInstruments | undefined;
  readonly #waiting = new Fifo<Key>();
  /** Key -> when it became dirty. */
  readonly #dirty = new Map<Key, number>();
  /** Key -> when it was handed out. */
  readonly #processing = new Map<Key, number>();
  readonly #waiters = new Set<Waiter<Key>>();
  #shuttingDown = false;
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(clock: Clock, instruments?: QueueInstruments) {
    this.#clock = clock;
    this.#instruments = instruments;
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
    return this.#dirty.size;
  }

  /** How long each key in processing has been there. */
  *runningMs(): Iterable<number> {
    const now = this.#clock.monotonicMs();
    for (const startedMs of this.#processing.values()) yield now - startedMs;
  }

  add(key: Key): void {
    if (this.#shuttingDown || this.#dirty.has(key)) return;
    this.#dirty.set(key, this.#clock.monotonicMs());
    this.#instruments?.added();
    if (!this.#processing.has(key)) this.#enqueue(key);
  }

  get(signal?: AbortSignal): Promise<Key | undefined> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    if (this.#waiting.length > 0 || this.#shuttingDown) return Promise.resolve(this.#handOut());
    return this.#wait(signal);
  }

  done(key: Key): void {
    const startedMs = this.#processing.get(key);
    if (startedMs === undefined) return;
    this.#processing.delete(key);
    this.#instruments?.worked(this.#clock.monotonicMs() - startedMs);
    // A drain ends with processing empty; a key that goes straight back to the queue is not finished yet.
    if (this.#dirty.has(key)) this.#enqueue(key);
    else this.#checkDrained();
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

  #enqueue(key: Key): void {
    this.#waiting.push(key);
    const [waiter] = this.#waiters;
    waiter?.(this.#handOut());
  }

  #handOut(): Key | undefined {
    const key = this.#waiting.shift();
    if (key === undefined) return undefined;
    const now = this.#clock.monotonicMs();
    this.#instruments?.waited(now - (this.#dirty.get(key) ?? now));
    this.#dirty.delete(key);
    this.#processing.set(key, now);
    return key;
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

  /** A queue that ended must not be measured for ever: a process may create the next one under the same name. */
  #detachWhenOver(): void {
    if (this.#processing.size === 0) this.#instruments?.detach(this);
  }
}
