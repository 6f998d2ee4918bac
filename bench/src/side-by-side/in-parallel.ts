// SPDX-License-Identifier: Apache-2.0
/** Work on many things at once, but not on all. The first failure ends it. */
export async function inParallel<T>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = Iterator.from(items);
  // One iterator for all: each takes the next thing that nobody has.
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
