// SPDX-License-Identifier: Apache-2.0
/** Work that must succeed eventually: an error of the API server or a driver is retried, a defect is not. */
import { CsiError } from '@csi-sidecars/csi';
import { ApiError, TransportError, type Clock, type Logger } from '@csi-sidecars/runtime';

const pauseMs = 1_000;

export interface PersistenceDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Failures of the outside world, as opposed to defects. */
export function isOperational(error: unknown): error is ApiError | TransportError | CsiError {
  return error instanceof ApiError || error instanceof TransportError || error instanceof CsiError;
}

/** Resolves with the first success; rejects for a defect, or when the signal aborts. */
export async function persistently<T>(
  { clock, logger }: PersistenceDeps,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !isOperational(error)) throw error;
      logger.error(error, 'Failed, will be tried again');
    }
    await clock.sleep(pauseMs, signal);
  }
}
