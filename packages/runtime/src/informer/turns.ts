// SPDX-License-Identifier: Apache-2.0
/** One at a time, in the order they came: pieces of work that each take several turns of the event loop. */
export interface Turns {
  /** True while something runs or waits. */
  readonly busy: boolean;
  take(work: () => Promise<void> | void): Promise<void>;
}

export function createTurns(): Turns {
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  const run = async (before: Promise<void>, work: () => Promise<void> | void): Promise<void> => {
    // What went wrong before is the business of whoever asked for it.
    await before.catch(() => undefined);
    try {
      await work();
    } finally {
      waiting -= 1;
    }
  };
  return {
    get busy() {
      return waiting > 0;
    },
    take(work) {
      waiting += 1;
      last = run(last, work);
      return last;
    },
  };
}
