// SPDX-License-Identifier: Apache-2.0
/** Items in groups. The groups take turns, one item each; within a group the first in is the first out. */
import { Fifo } from './fifo.ts';

export class RoundRobin<Item> {
  /** No group is empty, and each is in the rotation once. */
  readonly #groups = new Map<string, Fifo<Item>>();
  readonly #rotation = new Fifo<string>();

  push(group: string, item: Item): void {
    const known = this.#groups.get(group);
    if (known !== undefined) {
      known.push(item);
      return;
    }
    const items = new Fifo<Item>();
    items.push(item);
    this.#groups.set(group, items);
    this.#rotation.push(group);
  }

  shift(): Item | undefined {
    const group = this.#rotation.shift();
    if (group === undefined) return undefined;
    const items = this.#groups.get(group);
    const item = items?.shift();
    if (items?.length === 0) this.#groups.delete(group);
    else this.#rotation.push(group);
    return item;
  }

  /** The groups in the order of their turns. */
  groups(): Iterable<string> {
    return this.#rotation;
  }
}
