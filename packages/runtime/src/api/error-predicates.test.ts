// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import * as predicates from './error-predicates.ts';
import { ApiError, type StatusDetails } from './errors.ts';
import { TransportError } from './transport.ts';

const error = (status: number, reason = '', details?: StatusDetails): ApiError =>
  new ApiError({ status, reason, message: 'no', details });
/** The predicates that hold, by name. */
const holding = (thrown: unknown): string[] =>
  Object.entries(predicates)
    .filter(([, holds]) => holds(thrown))
    .map(([name]) => name)
    .toSorted();

/** ECONNREFUSED as the cause of so many errors. */
function refusedBelow(count: number): Error {
  let inner = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) as Error;
  for (let link = 0; link < count; link += 1) inner = new Error('above', { cause: inner });
  return inner;
}

describe('error predicates', () => {
  const rows: readonly { readonly given: string; readonly thrown: unknown; readonly then: readonly string[] }[] = [
    { given: 'NotFound', thrown: error(404, 'NotFound'), then: ['isNotFound'] },
    { given: '404 without reason', thrown: error(404), then: ['isNotFound'] },
    { given: '404 with an unknown reason', thrown: error(404, 'Whatever'), then: ['isNotFound'] },
    { given: 'a reason that contradicts the code', thrown: error(404, 'Forbidden'), then: ['isForbidden'] },
    { given: 'Conflict', thrown: error(409, 'Conflict'), then: ['isConflict'] },
    { given: '409 without reason', thrown: error(409), then: ['isConflict'] },
    { given: '409 AlreadyExists', thrown: error(409, 'AlreadyExists'), then: ['isAlreadyExists'] },
    { given: 'Invalid', thrown: error(422, 'Invalid'), then: ['isInvalid'] },
    { given: 'Expired', thrown: error(410, 'Expired'), then: ['isExpired'] },
    { given: 'Gone', thrown: error(410), then: ['isGone'] },
    { given: 'TooManyRequests', thrown: error(429, 'TooManyRequests'), then: ['isTooManyRequests'] },
    { given: '429 with any reason', thrown: error(429, 'Forbidden'), then: ['isForbidden', 'isTooManyRequests'] },
    { given: '504', thrown: error(504), then: ['isTimeout'] },
    { given: '403', thrown: error(403), then: ['isForbidden'] },
    { given: '400', thrown: error(400), then: ['isBadRequest'] },
    {
      given: 'a namespace that is going away',
      thrown: error(403, 'Forbidden', { causes: [{ reason: 'NamespaceTerminating' }] }),
      then: ['isForbidden', 'isNamespaceTerminating'],
    },
    {
      given: 'a version from the future, by cause',
      thrown: error(504, 'Timeout', { causes: [{ reason: 'ResourceVersionTooLarge' }] }),
      then: ['isTimeout', 'isTooLargeResourceVersion'],
    },
    {
      given: 'a version from the future, in words',
      thrown: new ApiError({ status: 504, reason: 'Timeout', message: 'Too large resource version: 9, current: 5' }),
      then: ['isTimeout', 'isTooLargeResourceVersion'],
    },
    {
      given: 'ECONNREFUSED as the cause of a cause',
      thrown: new Error('a', {
        cause: new Error('b', { cause: Object.assign(new Error('c'), { code: 'ECONNREFUSED' }) }),
      }),
      then: ['isConnectionRefused'],
    },
    { given: '422 without reason', thrown: error(422), then: ['isInvalid'] },
    {
      given: 'the reason TooManyRequests with another code',
      thrown: error(503, 'TooManyRequests'),
      then: ['isTooManyRequests'],
    },
    {
      given: 'a version from the future, by the message of a cause',
      thrown: error(504, 'Timeout', { causes: [{ message: 'another' }, { message: 'Too large resource version' }] }),
      then: ['isTimeout', 'isTooLargeResourceVersion'],
    },
    {
      given: 'a timeout with another cause',
      thrown: error(504, 'Timeout', { causes: [{ message: 'another' }] }),
      then: ['isTimeout'],
    },
    {
      given: 'an error with these words that is no timeout',
      thrown: new ApiError({ status: 500, message: 'Too large resource version: 9, current: 5' }),
      then: [],
    },
    {
      given: 'an error of another kind with details',
      thrown: Object.assign(new Error('no'), {
        details: { causes: [{ reason: 'NamespaceTerminating' }, { reason: 'ResourceVersionTooLarge' }] },
      }),
      then: [],
    },
    { given: 'another code of a socket', thrown: Object.assign(new Error('no'), { code: 'ECONNRESET' }), then: [] },
    { given: 'another failure of a connection', thrown: new TransportError('unreachable' as never, 'no'), then: [] },
    { given: 'ECONNREFUSED as the ninth cause', thrown: refusedBelow(9), then: ['isConnectionRefused'] },
    { given: 'ECONNREFUSED as the tenth cause, which is not looked at', thrown: refusedBelow(10), then: [] },
    { given: 'an object that is no error', thrown: { code: 'ECONNREFUSED' }, then: [] },
    { given: 'a refused connection', thrown: new TransportError('refused', 'no'), then: ['isConnectionRefused'] },
    { given: '401', thrown: error(401), then: [] },
    { given: 'something else', thrown: new Error('404'), then: [] },
  ];
  it.each(rows)('given $given, then $then', ({ thrown, then }) => {
    expect(holding(thrown)).toEqual(then);
  });
});
