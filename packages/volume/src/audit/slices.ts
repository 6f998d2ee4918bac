// SPDX-License-Identifier: Apache-2.0
/**
 * Work on a whole list in slices. Each `yield` is the end of a slice, where a leader lets its other work go on: 50,000 volumes at once would stop
 * everything else in the process for more than a tenth of a second.
 */
export type Slices<T> = Generator<undefined, T, undefined>;

/** About a millisecond. */
const itemsOfASlice = 256;

/** Calls `visit` for each item. */
export function* sliced<I>(items: Iterable<I>, visit: (item: I) => void): Slices<void> {
  let count = 0;
  for (const item of items) {
    visit(item);
    count += 1;
    if (count % itemsOfASlice === 0) yield undefined;
  }
}

/** Does all of it without a pause. */
export function atOnce<T>(slices: Slices<T>): T {
  let next = slices.next();
  while (next.done !== true) next = slices.next();
  return next.value;
}
