// SPDX-License-Identifier: Apache-2.0
/** The calls whose outcome is open: the driver may still be working on them. For log lines only. */
import { CsiError } from '@csi-sidecars/csi';
import type { Clock, Logger } from '@csi-sidecars/runtime';
import type { ClaimKey } from './claim.ts';

export interface OpenCalls {
  /** Reported after a call; without an error it succeeded. Logs what an `Aborted` waits for. */
  note(call: EndedCall, error: Error | undefined): void;
  /** A call succeeded, or the claim is gone. */
  forget(key: ClaimKey): void;
}

export interface EndedCall {
  readonly key: ClaimKey;
  readonly volumeHandle: string;
  readonly method: string;
  readonly startedMs: number;
  readonly isOpen: boolean;
}

export function createOpenCalls({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }): OpenCalls {
  const open = new Map<ClaimKey, { readonly method: string; readonly startedMs: number }>();
  return {
    note({ key, volumeHandle, method, startedMs, isOpen }, error) {
      const earlier = open.get(key);
      if (!isOpen) {
        open.delete(key);
        return;
      }
      if (earlier === undefined) open.set(key, { method, startedMs });
      if (!(error instanceof CsiError) || error.code !== 'Aborted') return;
      logger.info(0, 'The driver is still working on an earlier call for this volume, waiting', {
        key,
        volumeHandle,
        method,
        earlierMethod: earlier?.method ?? 'unknown',
        ageSeconds: earlier === undefined ? 'unknown' : Math.round((clock.monotonicMs() - earlier.startedMs) / 1_000),
      });
    },
    forget: (key) => void open.delete(key),
  };
}
