// SPDX-License-Identifier: Apache-2.0
/** What follows when a run of a controller has ended: the table of docs/behaviour/all-in-one.md, as a pure function. */
import { type ExitError, exitCodes } from '@csi-sidecars/sidecar';

/** How a run ended. */
export type RunEnd =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'driverLost' }
  | { readonly kind: 'refused'; readonly error: ExitError }
  | { readonly kind: 'lacking'; readonly error: ExitError }
  | { readonly kind: 'leaseLost' }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface EndedRun {
  readonly end: RunEnd;
  readonly lastedMs: number;
  /** Failures in a row before this run. */
  readonly failures: number;
  readonly onFailure: 'restart' | 'exit';
}

export type Sequel =
  | { readonly row: string; readonly kind: 'rest' }
  | { readonly row: string; readonly kind: 'endProcess'; readonly code: number; readonly error: unknown }
  /** Until it connects again. */
  | { readonly row: string; readonly kind: 'awaitDriver' }
  | { readonly row: string; readonly kind: 'park'; readonly error: ExitError }
  | { readonly row: string; readonly kind: 'standBy' }
  | { readonly row: string; readonly kind: 'restart'; readonly afterMs: number; readonly failures: number };

const firstPauseMs = 1_000;
const longestPauseMs = 300_000;
/** A run of this length was healthy: the pauses begin again with the first one. */
const healthyMs = 600_000;

export function decide({ end, lastedMs, failures, onFailure }: EndedRun): Sequel {
  switch (end.kind) {
    case 'stopped':
      return { row: 'U1', kind: 'rest' };
    case 'refused':
      return { row: 'U2', kind: 'endProcess', code: end.error.code, error: end.error };
    case 'driverLost':
      return { row: 'U3', kind: 'awaitDriver' };
    case 'lacking':
      return { row: 'U4', kind: 'park', error: end.error };
    case 'leaseLost':
      return { row: 'U5', kind: 'standBy' };
    case 'failed':
      if (onFailure === 'exit') return { row: 'U6', kind: 'endProcess', code: exitCodes.failure, error: end.error };
      if (lastedMs >= healthyMs) return { row: 'U7', kind: 'restart', afterMs: firstPauseMs, failures: 1 };
      return { row: 'U8', kind: 'restart', afterMs: pauseAfter(failures), failures: failures + 1 };
  }
}

function pauseAfter(failures: number): number {
  return Math.min(firstPauseMs * 2 ** failures, longestPauseMs);
}
