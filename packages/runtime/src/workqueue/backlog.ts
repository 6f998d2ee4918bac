// SPDX-License-Identifier: Apache-2.0
/** The keys that are ready and not handed out, and their order. Without lanes: first in, first out. */
import { Fifo } from './fifo.ts';

export interface WaitingKey<Key extends string> {
  readonly key: Key;
  /** The time at which the key became dirty. */
  readonly dirtyMs: number;
}

export interface Backlog<Key extends string> {
  readonly length: number;
  /** False when the key waits already. */
  add(key: Key, dirtyMs: number): boolean;
  /** Takes the next key. `finished` is called for it later. */
  take(): WaitingKey<Key> | undefined;
  finished(key: Key, workedMs: number): void;
  /** Empty if there are no lanes. */
  lanes(nowMs: number): readonly LaneState[];
  /** Undefined: the key does not wait. Passes over all waiting keys, so it is for questions of people. */
  placeOf(key: Key): WaitingPlace | undefined;
  /** When the oldest waiting key became dirty. Passes over waiting keys as `placeOf` does. */
  oldestMs(): number | undefined;
}

/** Where a key waits. */
export interface WaitingPlace {
  /** Undefined: the queue has no lanes. */
  readonly lane: string | undefined;
  /** 1 for the key that is handed out next, of its lane. */
  readonly place: number;
  /** The number of keys that wait in its lane. */
  readonly depth: number;
  /** When it became dirty. */
  readonly sinceMs: number;
}

/** A snapshot of a lane. */
export interface LaneState {
  readonly lane: string;
  readonly waiting: number;
  readonly inFlight: number;
  /** The time for which the oldest waiting key has been waiting; 0 if none waits. */
  readonly oldestWaitingMs: number;
}

export class FirstInFirstOut<Key extends string> implements Backlog<Key> {
  /** In the order in which they were added, which a set keeps. */
  readonly #keys = new Set<Key>();
  /** Positioned behind the keys that were taken. A new iterator would pass the place of every key ever taken. */
  readonly #rest = this.#keys.values();
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
    // The iterator never ends: it is asked only while a key waits.
    const key = this.#rest.next().value as Key;
    this.#keys.delete(key);
    return { key, dirtyMs };
  }

  finished(): void {
    // The order does not depend on earlier runs.
  }

  lanes(): readonly LaneState[] {
    return [];
  }

  placeOf(key: Key): WaitingPlace | undefined {
    if (!this.#keys.has(key)) return undefined;
    let place = 1;
    for (const each of this.#keys) {
      if (each === key) break;
      place += 1;
    }
    const sinceMs = this.#since.at(place - 1);
    return sinceMs === undefined ? undefined : { lane: undefined, place, depth: this.length, sinceMs };
  }

  oldestMs(): number | undefined {
    return this.#since.at(0);
  }
}
