// SPDX-License-Identifier: Apache-2.0
/** Runs pieces of work one at a time, in the order in which they were added. Each may take several turns of the event loop. */
export interface Turns {
  /** True while something runs or waits. */
  readonly busy: boolean;
  take<R>(work: () => Promise<R> | R): Promise<R>;
}

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  let unfinished = 0;
  const run = async <R>(before: Promise<unknown>, work: () => Promise<R> | R): Promise<R> => {
    // An earlier failure is reported to its own caller.
    await before.catch(() => undefined);
    try {
      return await work();
    } finally {
      unfinished -= 1;
    }
  };
  return {
    get busy() {
      return unfinished > 0;
    },
    take(work) {
      unfinished += 1;
      const result = run(last, work);
      last = result;
      return result;
    },
  };
}
