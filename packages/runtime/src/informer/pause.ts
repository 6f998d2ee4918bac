// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../clock/clock.ts';

/** Sleeps until the time has passed or the signal aborts. It does not throw: the caller checks the signal. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
