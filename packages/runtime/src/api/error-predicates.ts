// SPDX-License-Identifier: Apache-2.0
/**
 * What kind of refusal an error is. The reason decides; the HTTP code only when the reason is unknown or empty. Every
 * predicate takes anything that was thrown and is false for what is not an ApiError.
 */
import { ApiError, causesOf } from './errors.ts';

const knownReasons: ReadonlySet<string> = new Set([
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Invalid',
  'ServerTimeout',
  'StoreReadError',
  'Timeout',
  'TooManyRequests',
  'BadRequest',
  'MethodNotAllowed',
  'NotAcceptable',
  'RequestEntityTooLarge',
  'UnsupportedMediaType',
  'InternalError',
  'Expired',
  'ServiceUnavailable',
]);

function is(error: unknown, reason: string, code?: number): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.reason === reason || (error.status === code && !knownReasons.has(error.reason));
}

export function isNotFound(error: unknown): boolean {
  return is(error, 'NotFound', 404);
}

/** A lost race against another writer. A 409 with reason AlreadyExists is none. */
export function isConflict(error: unknown): boolean {
  return is(error, 'Conflict', 409);
}

export function isAlreadyExists(error: unknown): boolean {
  return is(error, 'AlreadyExists');
}

export function isInvalid(error: unknown): boolean {
  return is(error, 'Invalid', 422);
}

export function isGone(error: unknown): boolean {
  return is(error, 'Gone', 410);
}

export function isExpired(error: unknown): boolean {
  return is(error, 'Expired');
}

/** Code 429 counts whatever the reason says. */
export function isTooManyRequests(error: unknown): boolean {
  return is(error, 'TooManyRequests') || (error instanceof ApiError && error.status === 429);
}

export function isTimeout(error: unknown): boolean {
  return is(error, 'Timeout', 504);
}

export function isForbidden(error: unknown): boolean {
  return is(error, 'Forbidden', 403);
}

export function isBadRequest(error: unknown): boolean {
  return is(error, 'BadRequest', 400);
}

export function isNamespaceTerminating(error: unknown): boolean {
  return hasCause(error, 'NamespaceTerminating');
}

const tooLargeVersion = 'Too large resource version';

/** The server has not seen that resource version yet. Older servers report it only in the message. */
export function isTooLargeResourceVersion(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (hasCause(error, 'ResourceVersionTooLarge')) return true;
  if (!isTimeout(error)) return false;
  const causes = error.details?.causes ?? [];
  return causes.some((cause) => cause.message === tooLargeVersion) || error.message.includes(tooLargeVersion);
}

/** The connection was refused: ECONNREFUSED anywhere in the chain of causes. */
export function isConnectionRefused(error: unknown): boolean {
  for (const link of causesOf(error)) {
    if ('code' in link && link.code === 'ECONNREFUSED') return true;
    if ('failure' in link && link.failure === 'refused') return true;
  }
  return false;
}

function hasCause(error: unknown, reason: string): boolean {
  return error instanceof ApiError && (error.details?.causes ?? []).some((cause) => cause.reason === reason);
}
