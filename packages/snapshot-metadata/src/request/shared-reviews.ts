// SPDX-License-Identifier: Apache-2.0
/**
 * Reviews that are asked for by several callers at the same time are made once. No answer is kept: a token that was revoked must stop
 * working at once. A review goes on while a caller waits for it; each caller may stop waiting by itself.
 *
 * Few reviews wait for the rate limit at a time, and the next one is of the line that has waited longest since its last turn, so that a
 * client with many bad tokens does not keep others out.
 */
import { createLines, type Line } from './lines.ts';

export interface SharedReviews<T> {
  /** The key must say all that the answer depends on. Rejects with the signal's reason when it aborts. */
  ask(
    review: { readonly key: string; readonly line: Line; readonly signal: AbortSignal },
    make: (signal: AbortSignal) => Promise<T>,
  ): Promise<T>;
}

/** Enough to use the whole rate, and few enough that a new line is soon served. */
const atOnce = 4;

interface Running<T> {
  readonly answer: Promise<T>;
  readonly stop: AbortController;
  /** Not another one of the same key, which may be running by now. */
  readonly forget: () => void;
  waiting: number;
}

export function createSharedReviews<T>(): SharedReviews<T> {
  const running = new Map<string, Running<T>>();
  const turns = createFairTurns(atOnce);
  return {
    async ask({ key, line, signal }, make) {
      signal.throwIfAborted();
      let review = running.get(key);
      if (review === undefined) {
        const stop = new AbortController();
        const answer = turns.take(line, stop.signal, () => make(stop.signal));
        const forget = (): void => {
          if (running.get(key) === started) running.delete(key);
        };
        const started: Running<T> = { answer, stop, forget, waiting: 0 };
        answer.then(forget, forget);
        running.set(key, started);
        review = started;
      }
      return await waitFor(review, signal);
    },
  };
}

async function waitFor<T>(review: Running<T>, signal: AbortSignal): Promise<T> {
  review.waiting += 1;
  const given = Promise.withResolvers<never>();
  const giveUp = (): void => given.reject(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([review.answer, given.promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
    review.waiting -= 1;
    if (review.waiting === 0 && signal.aborted) {
      // The next caller must not get the failure of a review that was given up.
      review.forget();
      review.stop.abort(signal.reason);
    }
  }
}

interface FairTurns {
  take<T>(line: Line, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

function createFairTurns(most: number): FairTurns {
  const lines = createLines<() => void>();
  let free = most;

  const turn = (line: Line, signal: AbortSignal): Promise<void> => {
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        lines.remove(line, go);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      lines.add(line, go);
    });
  };
  return {
    async take(line, signal, work) {
      await turn(line, signal);
      try {
        return await work();
      } finally {
        const next = lines.next();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
