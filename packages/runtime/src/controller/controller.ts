// SPDX-License-Identifier: Apache-2.0
/** A controller, assembled from its ports and not running yet. */
export interface Controller {
  /** Waits for its caches and works until the signal aborts; resolves when nothing of it runs any more. */
  run(signal: AbortSignal): Promise<void>;
}

/** What the flags of every controller decide about its loops. */
export interface LoopSettings {
  /** Number of workers of each queue. */
  readonly workerThreads: number;
  /** Doubles with each failure of a key. */
  readonly retryIntervalStartMs: number;
  readonly retryIntervalMaxMs: number;
}
