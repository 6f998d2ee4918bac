// SPDX-License-Identifier: Apache-2.0
/** Works on many items with bounded concurrency. The first failure ends it. */
export async function inParallel<T>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = Iterator.from(items);
  // One iterator for all workers: each takes the next item.
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
