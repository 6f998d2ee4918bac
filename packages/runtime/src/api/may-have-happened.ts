// SPDX-License-Identifier: Apache-2.0
/**
 * Whether a write that failed may have taken effect all the same. First row that matches:
 *
 * | the failure | may have happened |
 * |---|---|
 * | any, after an attempt of the same call that may have happened | yes |
 * | no connection (refused, unknown host, TLS), no credentials, not processed | no |
 * | another failure of the transport: timeout, reset, end of file, cancelled | yes |
 * | 4xx but 408: the server refused it | no |
 * | 5xx, 408, and a 2xx answer that cannot be read | yes |
 * | anything else that was thrown | yes |
 */
import { ApiError } from './errors.ts';
import { TransportError, type TransportFailure } from './transport.ts';

const neverSent: ReadonlySet<TransportFailure> = new Set(['refused', 'lookup', 'tls', 'credentials', 'unprocessed']);

/** The last errors of calls of which an earlier attempt may have happened. */
const afterOpenAttempt = new WeakSet<Error>();

export function mayHaveHappened(error: unknown): boolean {
  if (error instanceof Error && afterOpenAttempt.has(error)) return true;
  if (error instanceof TransportError) return !neverSent.has(error.failure);
  if (error instanceof ApiError) return error.status < 400 || error.status >= 500 || error.status === 408;
  return true;
}

/** Says so of an error that alone would be certain. */
export function noteOpenAttempt(error: Error): void {
  afterOpenAttempt.add(error);
}
