// SPDX-License-Identifier: Apache-2.0
/** When long work has to let the event loop turn: after 500 units or 10 ms, whichever is first. */
import type { Clock } from '../clock/clock.ts';

export interface Budget {
  /** Counts one unit of work. Undefined while there is budget left; else wait for it before going on. */
  spend(): Promise<void> | undefined;
}

const maxUnits = 500;
const maxMs = 10;
/** Reading the clock costs about as much as the cheapest unit. */
const unitsPerLook = 8;

export function createBudget(clock: Clock): Budget {
  let units = 0;
  let sinceMs = clock.monotonicMs();
  const renew = async (): Promise<void> => {
    await clock.yieldToLoop();
    units = 0;
    sinceMs = clock.monotonicMs();
  };
  return {
    spend() {
      units += 1;
      if (units < maxUnits && (units % unitsPerLook !== 0 || clock.monotonicMs() - sinceMs < maxMs)) return undefined;
      return renew();
    },
  };
}
