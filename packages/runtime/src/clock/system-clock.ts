// SPDX-License-Identifier: Apache-2.0
/** The clock of the machine. The only file in which the platform's timers and wall clock occur. */
import { setImmediate } from 'node:timers/promises';
import type { Clock, Timer } from './clock.ts';

/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1;

export function systemClock(): Clock {
  return { nowMs: Date.now, monotonicMs: () => performance.now(), sleep, timer, yieldToLoop: () => setImmediate() };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      alarm.cancel();
      reject(signal?.reason as Error);
    };
    const alarm = arm(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function timer(ms: number, fire: () => void): Timer {
  const alarm = arm(ms, fire);
  alarm.unref();
  return alarm;
}

interface Alarm extends Timer {
  unref(): void;
}

/** One timer, re-armed for as long as the wait is longer than what a timer can hold. */
function arm(ms: number, fire: () => void): Alarm {
  const dueMs = performance.now() + ms;
  let background = false;
  let handle: NodeJS.Timeout;
  const set = (remainingMs: number): void => {
    const next = remainingMs > longestTimerMs ? () => set(dueMs - performance.now()) : fire;
    handle = setTimeout(next, Math.min(Math.max(remainingMs, 0), longestTimerMs));
    if (background) handle.unref();
  };
  set(ms);
  const cancel = (): void => clearTimeout(handle);
  return {
    cancel,
    [Symbol.dispose]: cancel,
    unref: () => {
      background = true;
      handle.unref();
    },
  };
}
