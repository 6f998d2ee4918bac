// SPDX-License-Identifier: Apache-2.0
/** Classifies a failure for the reflector. The first matching row wins. */
import {
  isBadRequest,
  isConnectionRefused,
  isExpired,
  isGone,
  isInvalid,
  isTooLargeResourceVersion,
  isTooManyRequests,
} from '../../api/error-predicates.ts';
import { ApiError } from '../../api/errors.ts';
import { TransportError } from '../../api/transport.ts';

export type Refusal =
  | 'busy' // 429, or connection refused: the same request may work later
  | 'expired' // the version or continue token is no longer known: 410 with reason Expired
  | 'gone' // any other 410, or a version that the server has not reached
  | 'unsupported' // 400 or 422: the server does not know this kind of request
  | 'serverFault' // 5xx: typically etcd without a leader
  | 'noAnswer' // the connection failed: nothing is known about the version
  | 'other';

export function refusalOf(error: unknown): Refusal {
  if (isConnectionRefused(error) || isTooManyRequests(error)) return 'busy';
  if (isExpired(error)) return 'expired';
  if (isGone(error) || isTooLargeResourceVersion(error)) return 'gone';
  if (isInvalid(error) || isBadRequest(error)) return 'unsupported';
  if (error instanceof ApiError && error.status >= 500) return 'serverFault';
  return error instanceof TransportError ? 'noAnswer' : 'other';
}
