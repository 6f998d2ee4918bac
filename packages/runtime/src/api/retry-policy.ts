// SPDX-License-Identifier: Apache-2.0
/**
 * Whether a failed attempt is made again. First row that matches:
 *
 * | outcome                                                    | GET          | other verbs | watch      |
 * |------------------------------------------------------------|--------------|-------------|------------|
 * | not processed (stream refused, or above GOAWAY's last one)  | at once, then every second, all three    |
 * | a resource version that the server has not reached         | fail, all three: the caller asks without |
 * | 429 or 5xx with a whole number in Retry-After               | after that many seconds, up to a limit   |
 * | any other answer                                           | fail, all three                          |
 * | connection reset, end of file                              | after 1 s    | fail        | after 1 s  |
 * | timeout                                                    | fail         | fail        | after 1 s  |
 * | connection refused, no such host, TLS, no credentials, aborted | fail, all three                          |
 *
 * Whatever the reasons, there are ten retries at most. What is not retried because of a broken connection is a write whose
 * outcome is unknown: its caller has to read before it decides.
 */
import { isTooLargeResourceVersion } from './error-predicates.ts';
import { ApiError } from './errors.ts';
import { TransportError, type TransportFailure } from './transport.ts';

const maxRetries = 10;

export interface FailedAttempt {
  /** A TransportError or an ApiError; anything else is a mistake in the code. */
  readonly error: Error;
  /** Value of the Retry-After header; undefined if it is absent, a date or invalid. */
  readonly retryAfterMs?: number | undefined;
}

export type Use = 'read' | 'write' | 'watch';

export interface AttemptFacts {
  readonly use: Use;
  /** Retries made before this attempt. */
  readonly retries: number;
}

export type RetryDecision =
  | { readonly kind: 'fail' }
  /** `limited`: the retry passes the rate limiter again. */
  | { readonly kind: 'retry'; readonly afterMs: number; readonly limited: boolean };

/**
 * The longest pause that a server can ask for. Most calls have a shorter deadline. An informer sees no changes while its watch waits,
 * so the limit of a watch is the silence after which an open one is given up.
 */
const longestAskedMs: Readonly<Record<Use, number>> = { read: 300_000, write: 300_000, watch: 150_000 };

const fail: RetryDecision = { kind: 'fail' };

export function decideRetry(attempt: FailedAttempt, { use, retries }: AttemptFacts): RetryDecision {
  if (retries >= maxRetries) return fail;
  const { error, retryAfterMs } = attempt;
  if (error instanceof ApiError) {
    const mayAskToWait = error.status === 429 || error.status >= 500;
    if (!mayAskToWait || retryAfterMs === undefined || isTooLargeResourceVersion(error)) return fail;
    return { kind: 'retry', afterMs: Math.min(retryAfterMs, longestAskedMs[use]), limited: true };
  }
  if (!(error instanceof TransportError) || !retriedUses[error.failure].includes(use)) return fail;
  if (error.failure !== 'unprocessed') return { kind: 'retry', afterMs: 1000, limited: true };
  return { kind: 'retry', afterMs: retries === 0 ? 0 : 1000, limited: false };
}

const retriedUses: Readonly<Record<TransportFailure, readonly Use[]>> = {
  unprocessed: ['read', 'write', 'watch'],
  reset: ['read', 'watch'],
  eof: ['read', 'watch'],
  timeout: ['watch'],
  refused: [],
  lookup: [],
  tls: [],
  credentials: [],
  aborted: [],
};

/** Whole seconds of a Retry-After header; undefined for a date, a negative number or garbage. */
export function parseRetryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) * 1000 : undefined;
}
