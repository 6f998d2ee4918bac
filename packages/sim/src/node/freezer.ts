// SPDX-License-Identifier: Apache-2.0
/** A gate that a test can close: a frozen node does nothing, like one that hangs or has lost its network. */
import type { StartGate } from '@csi-sidecars/runtime/internal';

export interface Freezer {
  readonly gate: StartGate;
  readonly freeze: () => void;
  readonly thaw: () => void;
}

export function createFreezer(): Freezer {
  const waiting = new Set<() => void>();
  let frozen = false;
  return {
    gate: {
      get open() {
        return !frozen;
      },
      async whenOpen(signal) {
        if (!frozen) return;
        await new Promise<void>((resolve, reject) => {
          const abort = (): void => {
            waiting.delete(go);
            reject(signal.reason as Error);
          };
          const go = (): void => {
            signal.removeEventListener('abort', abort);
            resolve();
          };
          waiting.add(go);
          signal.addEventListener('abort', abort, { once: true });
        });
      },
    },
    freeze() {
      frozen = true;
    },
    thaw() {
      frozen = false;
      const released = [...waiting];
      waiting.clear();
      for (const go of released) go();
    },
  };
}
