// SPDX-License-Identifier: Apache-2.0

/** Queues inputs in their order, for one reader. */
export interface Inbox<T> {
  readonly put: (item: T) => void;
  /** Resolves with the oldest item as soon as there is one. Only one call may wait. */
  readonly take: () => Promise<T>;
}

export function createInbox<T>(): Inbox<T> {
  const items: T[] = [];
  let reader: ((item: T) => void) | undefined;
  return {
    put: (item) => {
      if (reader === undefined) {
        items.push(item);
        return;
      }
      reader(item);
      reader = undefined;
    },
    take: () =>
      new Promise((resolve) => {
        const item = items.shift();
        if (item === undefined) reader = resolve;
        else resolve(item);
      }),
  };
}
