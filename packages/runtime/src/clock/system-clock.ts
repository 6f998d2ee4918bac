// SPDX-License-Identifier: Apache-2.0
/** The clock of the machine. The only file in which the platform's timers and wall clock occur. */
import { setImmediate } from 'node:timers/promises';
import type { Clock, Timer } from './clock.ts';
import { sleepOn } from './sleep-on.ts';

/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export function systemClock(): Clock {
  return { nowMs: Date.now, monotonicMs: () => performance.now(), sleep, timer, yieldToLoop: () => setImmediate() };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return sleepOn((afterMs, fire) => new Alarm(afterMs, fire), ms, signal);
}

function timer(ms: number, fire: () => void): Timer {
  const alarm = new Alarm(ms, fire);
  alarm.unref();
  return alarm;
}

/**
 * One timer, re-armed for as long as the wait is longer than what a timer can hold. An object with methods rather than one of
 * closures: every request arms one, and hardly any fires.
 */
class Alarm implements Timer {
  #handle: NodeJS.Timeout;
  #background = false;

  constructor(ms: number, fire: () => void) {
    this.#handle = ms <= longestTimerMs ? setTimeout(fire, Math.max(ms, 0)) : this.#setFirst(ms, fire);
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#handle);
  }

  unref(): void {
    this.#background = true;
    this.#handle.unref();
  }

  #setFirst(ms: number, fire: () => void): NodeJS.Timeout {
    const dueMs = performance.now() + ms;
    const setNext = (): void => {
      const leftMs = dueMs - performance.now();
      this.#handle = setTimeout(
        leftMs > longestTimerMs ? setNext : fire,
        Math.min(Math.max(leftMs, 0), longestTimerMs),
      );
      if (this.#background) this.#handle.unref();
    };
    return setTimeout(setNext, longestTimerMs);
  }
}
