// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { ApiError } from './errors.ts';
import { decideRetry, parseRetryAfterMs, type Use } from './retry-policy.ts';
import { TransportError, type TransportFailure } from './transport.ts';

const uses: readonly Use[] = ['read', 'write', 'watch'];

describe('decideRetry', () => {
  const failures: readonly { readonly failure: TransportFailure; readonly then: readonly (number | 'fail')[] }[] = [
    { failure: 'unprocessed', then: [0, 0, 0] },
    { failure: 'reset', then: [1000, 'fail', 1000] },
    { failure: 'eof', then: [1000, 'fail', 1000] },
    { failure: 'timeout', then: ['fail', 'fail', 1000] },
    { failure: 'refused', then: ['fail', 'fail', 'fail'] },
    { failure: 'lookup', then: ['fail', 'fail', 'fail'] },
    { failure: 'tls', then: ['fail', 'fail', 'fail'] },
    { failure: 'credentials', then: ['fail', 'fail', 'fail'] },
    { failure: 'aborted', then: ['fail', 'fail', 'fail'] },
  ];
  it.each(failures)('given an exchange that failed with $failure, then a read, a write, a watch: $then', (row) => {
    const error = new TransportError(row.failure, 'broken');
    const decided = uses.map((use) => decideRetry({ error }, { use, retries: 0 }));
    expect(decided.map((decision) => (decision.kind === 'retry' ? decision.afterMs : 'fail'))).toEqual(row.then);
  });

  const answers: readonly {
    readonly status: number;
    readonly retryAfterMs?: number;
    readonly then: number | 'fail';
  }[] = [
    { status: 429, retryAfterMs: 2000, then: 2000 },
    { status: 503, retryAfterMs: 0, then: 0 },
    { status: 500, retryAfterMs: 3000, then: 3000 },
    { status: 429, then: 'fail' },
    { status: 500, then: 'fail' },
    { status: 409, retryAfterMs: 1000, then: 'fail' },
    { status: 302, retryAfterMs: 1000, then: 'fail' },
  ];
  it.each(answers)('given HTTP $status and Retry-After $retryAfterMs, then $then, whatever the verb', (row) => {
    const error = new ApiError({ status: row.status, message: 'no' });
    const decided = uses.map((use) => decideRetry({ error, retryAfterMs: row.retryAfterMs }, { use, retries: 0 }));
    expect(decided).toEqual(
      uses.map(() => (row.then === 'fail' ? { kind: 'fail' } : { kind: 'retry', afterMs: row.then, limited: true })),
    );
  });

  it('[runtime#71a] given a version that the server has not reached, and Retry-After, then the same version is not asked for again', () => {
    const details = { causes: [{ reason: 'ResourceVersionTooLarge' }] };
    const error = new ApiError({ status: 504, reason: 'Timeout', message: 'Too large resource version', details });
    const decided = uses.map((use) => decideRetry({ error, retryAfterMs: 1000 }, { use, retries: 0 }));
    expect(decided).toEqual(uses.map(() => ({ kind: 'fail' })));
  });

  it('given a mistake in the code, then nothing is made again', () => {
    expect(decideRetry({ error: new TypeError('x') }, { use: 'watch', retries: 0 })).toEqual({ kind: 'fail' });
  });

  it('given ten retries, then there is no eleventh', () => {
    const error = new TransportError('unprocessed', 'refused');
    expect(decideRetry({ error }, { use: 'read', retries: 9 })).toEqual({
      kind: 'retry',
      afterMs: 1000,
      limited: false,
    });
    expect(decideRetry({ error }, { use: 'read', retries: 10 })).toEqual({ kind: 'fail' });
  });
});

describe('parseRetryAfterMs', () => {
  it.each([
    ['2', 2000],
    ['0', 0],
    ['-1', undefined],
    ['1.5', undefined],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
    ['soon', undefined],
    [undefined, undefined],
  ])('given %s, then %s', (header, expected) => {
    expect(parseRetryAfterMs(header)).toBe(expected);
  });
});
