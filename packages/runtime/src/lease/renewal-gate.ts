// SPDX-License-Identifier: Apache-2.0
import type { LeaseGate } from '../controller/start-gate.ts';

/** The gate of a leader's work, computed by `isOpen` and `isHeld`; code that opens it calls `refresh`. */
export interface RenewalGate extends LeaseGate {
  refresh(): void;
}

export function createRenewalGate(isOpen: () => boolean, isHeld: () => boolean): RenewalGate {
  const waiting = new Set<() => void>();
  return {
    get open() {
      return isOpen();
    },
    get held() {
      return isHeld();
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
