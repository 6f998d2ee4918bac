// SPDX-License-Identifier: Apache-2.0

/** What happened, in order, for one reader. */
export interface Inbox<T> {
  readonly put: (item: T) => void;
  /** The oldest item, as soon as there is one. One call at a time. */
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
