// SPDX-License-Identifier: Apache-2.0
/** Lets callers wait until a condition holds; code that may change the condition calls `recheck`. */
export interface SyncGate {
  recheck(): void;
  /** True as soon as the condition holds; false when the signal aborts or the gate is closed first. */
  whenOpen(signal: AbortSignal): Promise<boolean>;
  /** Closes the gate: the condition will never hold. */
  close(): void;
}

export function createSyncGate(isOpen: () => boolean): SyncGate {
  const waiting = new Set<(open: boolean) => void>();
  let closed = false;
  const releaseAll = (open: boolean): void => {
    for (const release of waiting) release(open);
  };
  return {
    recheck() {
      if (isOpen()) releaseAll(true);
    },
    whenOpen(signal) {
      if (isOpen()) return Promise.resolve(true);
      if (closed || signal.aborted) return Promise.resolve(false);
      return new Promise((resolve) => {
        const release = (open: boolean): void => {
          waiting.delete(release);
          signal.removeEventListener('abort', onAbort);
          resolve(open);
        };
        const onAbort = (): void => release(false);
        waiting.add(release);
        signal.addEventListener('abort', onAbort);
      });
    },
    close() {
      closed = true;
      releaseAll(false);
    },
  };
}
