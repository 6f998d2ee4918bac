// SPDX-License-Identifier: Apache-2.0
/** The keys that are ready and not handed out, and which of them is next. Plain queues: first in, first out. */
import { Fifo } from './fifo.ts';

export interface WaitingKey<Key extends string> {
  readonly key: Key;
  /** When the key became dirty. */
  readonly dirtyMs: number;
}

export interface Backlog<Key extends string> {
  readonly length: number;
  /** False when the key waits already. */
  add(key: Key, dirtyMs: number): boolean;
  /** Takes out what is next. A key that is taken is `finished` later. */
  take(): WaitingKey<Key> | undefined;
  finished(key: Key, workedMs: number): void;
  /** None where keys have one order for all. */
  lanes(nowMs: number): readonly LaneState[];
}

/** What a lane looks like at a moment. */
export interface LaneState {
  readonly lane: string;
  readonly waiting: number;
  readonly inFlight: number;
  /** How long the oldest of the waiting keys has been waiting; 0 when none does. */
  readonly oldestWaitingMs: number;
}

export class FirstInFirstOut<Key extends string> implements Backlog<Key> {
  /** In the order they came: a set keeps it. */
  readonly #keys = new Set<Key>();
  /** Stands behind what was taken. A new one would pass over the place of every key ever taken. */
  #rest = this.#keys.values();
  /** When each became dirty, in the same order: plain numbers in an array, for memory. */
  readonly #since = new Fifo<number>();

  get length(): number {
    return this.#keys.size;
  }

  add(key: Key, dirtyMs: number): boolean {
    const before = this.#keys.size;
    if (this.#keys.add(key).size === before) return false;
    this.#since.push(dirtyMs);
    return true;
  }

  take(): WaitingKey<Key> | undefined {
    const dirtyMs = this.#since.shift();
    if (dirtyMs === undefined) return undefined;
    const key = this.#first();
    this.#keys.delete(key);
    return { key, dirtyMs };
  }

  /** There is one. */
  #first(): Key {
    for (;;) {
      const { done, value } = this.#rest.next();
      if (done !== true) return value;
      // It came to an end when the queue was empty, and stays there.
      this.#rest = this.#keys.values();
    }
  }

  finished(): void {
    // The order does not depend on what ran.
  }

  lanes(): readonly LaneState[] {
    return [];
  }
}
