// SPDX-License-Identifier: Apache-2.0
/** Pauses of the reflector: 0.8 s, doubled up to 30 s, each made up to twice as long by chance. */
import type { Knowledge, Pause, Resumption, State } from './state.ts';

const baseMs = 800;
const capMs = 30_000;
/** A synced watch that lived this long is evidence of health. Nothing less resets the backoff. */
const healthyAfterMs = 60_000;
/** Watches are opened at most once a second, and those that end together are not reopened together. */
const reopenMs = 1_000;

export function backOff(known: Knowledge, then: Resumption): State {
  const stepMs = Math.min(baseMs * 2 ** known.failures, capMs);
  return {
    kind: 'waiting',
    known: { ...known, failures: known.failures + 1 },
    pause: { minMs: stepMs, spreadMs: stepMs },
    then,
  };
}

export function reopenPause(watch: { readonly openedAtMs: number }, nowMs: number): Pause {
  return { minMs: Math.max(0, reopenMs - (nowMs - watch.openedAtMs)), spreadMs: reopenMs };
}

export function withHealth(watch: { readonly known: Knowledge; readonly sinceMs: number }, nowMs: number): Knowledge {
  return nowMs - watch.sinceMs >= healthyAfterMs ? { ...watch.known, failures: 0, serverFaults: 0 } : watch.known;
}
