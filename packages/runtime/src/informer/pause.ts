// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../clock/clock.ts';

/** A sleep that an abort merely shortens: the caller looks at the signal next. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
