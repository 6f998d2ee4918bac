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
    { given: 'a refused connection', thrown: new TransportError('refused', 'no'), then: ['isConnectionRefused'] },
    { given: '401', thrown: error(401), then: [] },
    { given: 'something else', thrown: new Error('404'), then: [] },
  ];
  it.each(rows)('given $given, then $then', ({ thrown, then }) => {
    expect(holding(thrown)).toEqual(then);
  });
});
