// SPDX-License-Identifier: Apache-2.0
import type { Clock } from './clock.ts';

/** The sleep of a clock, on its timers: the machine's clock and virtual time wait and abort in the same way. */
export function sleepOn(timer: Clock['timer'], ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => {
      waiting.cancel();
      reject(signal?.reason as Error);
    };
    const waiting = timer(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
