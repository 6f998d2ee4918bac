// SPDX-License-Identifier: Apache-2.0

/** Taken slots in front of the live ones before the array is cut; keeps `shift` constant on average. */
const slackSlots = 1024;

/** First in, first out, in one array. (`Array.shift` moves every element once an array is large.) */
export class Fifo<T> {
  #items: (T | undefined)[] = [];
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
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head >= slackSlots && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
