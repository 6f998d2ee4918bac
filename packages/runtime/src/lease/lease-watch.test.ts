// SPDX-License-Identifier: Apache-2.0
/** When the watch on the Lease is opened again. */
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import type { ApiClient } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { watchLease } from './lease-watch.ts';

const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
const broken = new ApiError({ status: 500, reason: 'InternalError', message: 'broken' });

/** The result of each watch: an error, or its lifetime. A further watch stays open. */
async function openedAt(outcomes: readonly (Error | number)[], forMs: number): Promise<readonly number[]> {
  const clock = new FakeClock();
  const seen: number[] = [];
  const stream: ApiClient['stream'] = (_request, signal) => {
    const outcome = outcomes[seen.length] ?? Infinity;
    seen.push(clock.monotonicMs() / 1000);
    if (typeof outcome !== 'number') return Promise.reject(outcome);
    const body = (async function* (): AsyncGenerator<Uint8Array> {
      await clock.sleep(outcome, signal);
      yield* [];
    })();
    return Promise.resolve({ status: 200, headers: {}, body });
  };
  const stop = new AbortController();
  const watching = watchLease(
    {
      client: { stream } as ApiClient,
      clock,
      random: { next: () => 0, uuid: () => '' },
      config: { namespace: 'kube-system', name: 'driver', retryPeriodMs: 5000 },
    },
    () => undefined,
    stop.signal,
  );
  await clock.advance(forMs);
  stop.abort();
  await watching;
  expect(clock.pending).toBe(0);
  return seen;
}

describe('opening the watch again', () => {
  it('given failures, then the pauses double, and start over after a watch that stayed open for a while', async () => {
    expect(await openedAt([broken, broken, broken, 60_000, broken], 200_000)).toEqual([0, 5, 15, 35, 95, 100]);
  });

  it('given a role that forbids the watch, then it is opened again only after five minutes', async () => {
    expect(await openedAt([forbidden, forbidden], 700_000)).toEqual([0, 300, 600]);
  });

  it('given watches that end as soon as they have begun, then they count as failures', async () => {
    expect(await openedAt([10, 10], 100_000)).toEqual([0, 5.01, 15.02]);
  });
});
