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
  /** In order, and when each became dirty: two arrays of plain values, not one of objects, for memory. */
  readonly #keys = new Fifo<Key>();
  readonly #since = new Fifo<number>();
  /** The same keys, to find them. */
  readonly #known = new Set<Key>();

  get length(): number {
    return this.#keys.length;
  }

  add(key: Key, dirtyMs: number): boolean {
    const before = this.#known.size;
    if (this.#known.add(key).size === before) return false;
    this.#keys.push(key);
    this.#since.push(dirtyMs);
    return true;
  }

  take(): WaitingKey<Key> | undefined {
    const key = this.#keys.shift();
    const dirtyMs = this.#since.shift();
    if (key === undefined || dirtyMs === undefined) return undefined;
    this.#known.delete(key);
    return { key, dirtyMs };
  }

  finished(): void {
    // The order does not depend on what ran.
  }

  lanes(): readonly LaneState[] {
    return [];
  }
}
