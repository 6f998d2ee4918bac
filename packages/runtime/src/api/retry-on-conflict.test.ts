// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { ApiError } from './errors.ts';
import { type ConflictRetry, retryOnConflict } from './retry-on-conflict.ts';

const conflict = (n: number): ApiError => new ApiError({ status: 409, reason: 'Conflict', message: `conflict ${n}` });
const random = { next: () => 0.5, uuid: () => '' };

describe('retryOnConflict', () => {
  const runWith = async (write: (call: number) => Promise<string>, policy?: ConflictRetry) => {
    const clock = new FakeClock();
    const calls: number[] = [];
    const outcome = retryOnConflict(
      { clock, random },
      () => {
        calls.push(clock.monotonicMs());
        return write(calls.length);
      },
      policy,
    ).catch((error: unknown) => error);
    await clock.advance(10_000);
    return { calls, outcome: await outcome, pending: clock.pending };
  };

  it('given conflicts only, then the last of five is thrown', async () => {
    const { calls, outcome, pending } = await runWith((n) => Promise.reject(conflict(n)));
    expect(outcome).toEqual(conflict(5));
    expect(calls).toEqual([0, 10.5, 21, 31.5, 42]);
    expect(pending).toBe(0);
  });

  it('given three attempts without a pause, then they follow each other at once', async () => {
    const { calls, outcome } = await runWith((n) => Promise.reject(conflict(n)), { attempts: 3, delayMs: 0 });
    expect([outcome, calls]).toEqual([conflict(3), [0, 0, 0]]);
  });

  it('given a success after a conflict, then that is the result', async () => {
    const { calls, outcome } = await runWith((n) => (n === 1 ? Promise.reject(conflict(n)) : Promise.resolve('saved')));
    expect([outcome, calls.length]).toEqual(['saved', 2]);
  });

  it('given any other error, then it is thrown at once', async () => {
    const exists = new ApiError({ status: 409, reason: 'AlreadyExists', message: 'exists' });
    const { calls, outcome } = await runWith(() => Promise.reject(exists));
    expect([outcome, calls.length]).toEqual([exists, 1]);
  });
});
