// SPDX-License-Identifier: Apache-2.0
/** The calls whose outcome is open: the driver may still be working on them. For log lines only. */
import type { Clock, Logger } from '@csi-sidecars/runtime';
import { CsiError } from '@csi-sidecars/csi';

export interface OpenCalls {
  /** Reported after each call; undefined: it succeeded. Logs what an `Aborted` waits for. */
  note(call: EndedCall, error: Error | undefined): void;
}

export interface EndedCall {
  readonly volumeHandle: string;
  readonly method: string;
  readonly startedMs: number;
  readonly isOpen: boolean;
}

export function createOpenCalls({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }): OpenCalls {
  const open = new Map<string, { readonly method: string; readonly startedMs: number }>();
  return {
    note({ volumeHandle, method, startedMs, isOpen }, error) {
      const earlier = open.get(volumeHandle);
      if (!isOpen) {
        open.delete(volumeHandle);
        return;
      }
      if (earlier === undefined) open.set(volumeHandle, { method, startedMs });
      if (!(error instanceof CsiError) || error.code !== 'Aborted') return;
      logger.info(0, 'The driver is still working on an earlier call for this volume, waiting', {
        volumeHandle,
        method,
        earlierMethod: earlier?.method ?? 'unknown',
        ageSeconds: earlier === undefined ? 'unknown' : Math.round((clock.monotonicMs() - earlier.startedMs) / 1_000),
      });
    },
  };
}
