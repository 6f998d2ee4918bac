// SPDX-License-Identifier: Apache-2.0
import type { StartGate } from '../controller/start-gate.ts';

/** The gate of a leader's work, computed by `isOpen`; code that changes the answer calls `refresh`. */
export interface RenewalGate extends StartGate {
  refresh(): void;
}

export function createRenewalGate(isOpen: () => boolean): RenewalGate {
  const waiting = new Set<() => void>();
  return {
    get open() {
      return isOpen();
    },
    refresh: () => {
      if (!isOpen()) return;
      for (const enter of waiting) enter();
    },
    whenOpen: (signal) =>
      new Promise((resolve, reject) => {
        const leave = (): void => {
          waiting.delete(enter);
          signal.removeEventListener('abort', onAbort);
        };
        const enter = (): void => {
          leave();
          resolve();
        };
        const onAbort = (): void => {
          leave();
          reject(signal.reason as Error);
        };
        if (signal.aborted) onAbort();
        else if (isOpen()) resolve();
        else {
          waiting.add(enter);
          signal.addEventListener('abort', onAbort, { once: true });
        }
      }),
  };
}
