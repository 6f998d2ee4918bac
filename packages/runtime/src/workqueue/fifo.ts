// SPDX-License-Identifier: Apache-2.0

/** Taken slots in front of the live ones before the array is cut; keeps `shift` constant on average. */
const slackSlots = 1024;

/**
 * First in, first out, in one array. (`Array.shift` moves every element once an array is large.) Taken slots keep their value
 * until they are cut off, at most as many as there are live ones, plus the slack: so an array of numbers stays unboxed.
 */
export class Fifo<T> {
  #items: T[] = [];
  /** Everything before it has been taken. */
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#head += 1;
    if (this.#head >= slackSlots && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Undefined: fewer items wait. 0 is the next one. */
  at(index: number): T | undefined {
    return this.#items[this.#head + index];
  }

  /** What waits, in its order. */
  *[Symbol.iterator](): Iterator<T> {
    for (let at = this.#head; at < this.#items.length; at += 1) yield this.#items[at] as T;
  }
}
