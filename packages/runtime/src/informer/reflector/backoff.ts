// SPDX-License-Identifier: Apache-2.0
/**
 * Pauses of the reflector: 0.8 s, doubled up to 30 s, each multiplied by a random factor between 1 and 2; longer if the server
 * asks for it.
 */
import { ApiError } from '../../api/errors.ts';
import type { Burst, Knowledge, Pause, Resumption, State } from './state.ts';

const baseMs = 800;
const capMs = 30_000;
/** The longest pause that a server can ask for. */
const maxAskedMs = 300_000;
/** A synced watch that lived this long is evidence of health. Nothing less resets the backoff. */
const healthyAfterMs = 60_000;
/** Watches are opened at most once a second, and those that end together are not reopened together. */
const reopenMs = 1_000;

/** `error`: the answer that causes the pause, if there was one. Its Retry-After still applies after the retries of the client. */
export function backOff(known: Knowledge, then: Resumption, error?: unknown): State {
  const stepMs = Math.min(baseMs * 2 ** known.failures, capMs);
  return {
    kind: 'waiting',
    known: { ...known, failures: known.failures + 1 },
    pause: { minMs: Math.max(stepMs, askedMs(error)), spreadMs: stepMs },
    then,
  };
}

function askedMs(error: unknown): number {
  const seconds = error instanceof ApiError ? (error.details?.retryAfterSeconds ?? 0) : 0;
  return Math.min(seconds * 1000, maxAskedMs);
}

export function reopenPause(watch: { readonly openedAtMs: number }, nowMs: number): Pause {
  return { minMs: Math.max(0, reopenMs - (nowMs - watch.openedAtMs)), spreadMs: reopenMs };
}

const burstMs = 1_000;
const manyChanges = 50;

/** One change more. What came in the second before counts half. */
export function oneMore({ sinceMs, changes }: Burst, nowMs: number): Burst {
  const ageMs = nowMs - sinceMs;
  if (ageMs < burstMs) return { sinceMs, changes: changes + 1 };
  return { sinceMs: nowMs, changes: ageMs < 2 * burstMs ? Math.floor(changes / 2) + 1 : 1 };
}

/**
 * A server ends a watch that takes its changes too slowly, which happens when many come at once and all processors are busy. A pause
 * would add to the delay when it matters most, and each reopened watch brings many changes, so there is no storm of requests.
 */
export function isInBurst({ sinceMs, changes }: Burst, nowMs: number): boolean {
  return changes >= manyChanges && nowMs - sinceMs < 2 * burstMs;
}

export function withHealth(watch: { readonly known: Knowledge; readonly sinceMs: number }, nowMs: number): Knowledge {
  return nowMs - watch.sinceMs >= healthyAfterMs ? { ...watch.known, failures: 0, serverFaults: 0 } : watch.known;
}
