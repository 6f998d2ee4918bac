// SPDX-License-Identifier: Apache-2.0
/**
 * Keys that become ready later: one heap and one timer for all of them (a timer per key costs 224 bytes). A key waits at
 * most once, with the earliest of its ready times; keys become ready in the order of these, equal ones in the order they came.
 */
import type { Clock, Timer } from '../clock/clock.ts';

/** The heap is looked at this often even if the timer misbehaves; no delay ever reaches the limit of a timer either. */
const safetyTickMs = 10_000;

interface Entry<Key> {
  readonly key: Key;
  readyMs: number;
  sequence: number;
  /** The position of the entry in the heap. */
  index: number;
}

export class DelayedAdds<Key extends string> {
  readonly #clock: Clock;
  readonly #ready: (key: Key) => void;
  readonly #entries = new Map<Key, Entry<Key>>();
  readonly #heap: Entry<Key>[] = [];
  #sequence = 0;
  #timer: Timer | undefined;
  #timerDueMs = Infinity;

  constructor(clock: Clock, ready: (key: Key) => void) {
    this.#clock = clock;
    this.#ready = ready;
  }

  add(key: Key, delayMs: number): void {
    const readyMs = this.#clock.monotonicMs() + delayMs;
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (readyMs >= known.readyMs) return;
      known.readyMs = readyMs;
      this.#siftUp(known);
    } else {
      const entry = { key, readyMs, sequence: this.#sequence, index: this.#heap.length };
      this.#sequence += 1;
      this.#entries.set(key, entry);
      this.#heap.push(entry);
      this.#siftUp(entry);
    }
    this.#arm();
  }

  /** Ignores a key that does not wait. */
  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#remove(entry);
  }

  /** The ready time of a key; undefined if it does not wait. */
  readyMs(key: Key): number | undefined {
    return this.#entries.get(key)?.readyMs;
  }

  /** Drops all waiting keys. */
  clear(): void {
    this.#timer?.cancel();
    this.#timerDueMs = Infinity;
    this.#entries.clear();
    this.#heap.length = 0;
  }

  #arm(): void {
    const next = this.#heap[0];
    if (next === undefined) return;
    const now = this.#clock.monotonicMs();
    const dueMs = Math.min(next.readyMs, now + safetyTickMs);
    if (dueMs >= this.#timerDueMs) return;
    this.#timer?.cancel();
    this.#timerDueMs = dueMs;
    this.#timer = this.#clock.timer(dueMs - now, () => {
      this.#timerDueMs = Infinity;
      this.#release();
      this.#arm();
    });
  }

  #release(): void {
    const now = this.#clock.monotonicMs();
    for (let first = this.#heap[0]; first !== undefined && first.readyMs <= now; first = this.#heap[0]) {
      this.#remove(first);
      this.#ready(first.key);
    }
  }

  #remove(entry: Entry<Key>): void {
    this.#entries.delete(entry.key);
    const last = this.#heap.pop();
    if (last === undefined || last === entry) return;
    this.#place(last, entry.index);
    this.#siftDown(last);
    this.#siftUp(last);
  }

  #siftUp(entry: Entry<Key>): void {
    for (;;) {
      const parentIndex = (entry.index - 1) >> 1;
      const parent = this.#heap[parentIndex];
      if (parent === undefined || !isBefore(entry, parent)) return;
      this.#place(parent, entry.index);
      this.#place(entry, parentIndex);
    }
  }

  #siftDown(entry: Entry<Key>): void {
    for (;;) {
      const left = this.#heap[entry.index * 2 + 1];
      const right = this.#heap[entry.index * 2 + 2];
      const child = right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) return;
      const childIndex = child.index;
      this.#place(child, entry.index);
      this.#place(entry, childIndex);
    }
  }

  #place(entry: Entry<Key>, index: number): void {
    this.#heap[index] = entry;
    entry.index = index;
  }
}

function isBefore<Key>(a: Entry<Key>, b: Entry<Key>): boolean {
  return a.readyMs < b.readyMs || (a.readyMs === b.readyMs && a.sequence < b.sequence);
}
