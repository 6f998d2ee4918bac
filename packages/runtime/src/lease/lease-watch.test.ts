// SPDX-License-Identifier: Apache-2.0
/** When the watch on the Lease is opened again. */
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import type { ApiClient } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import type { LeaseChange } from './election-state.ts';
import { watchLease } from './lease-watch.ts';

const forbidden = new ApiError({ status: 403, reason: 'Forbidden', message: 'no' });
const broken = new ApiError({ status: 500, reason: 'InternalError', message: 'broken' });

interface Watching {
  /** The times at which watches were opened, in seconds. */
  readonly openedAt: readonly number[];
  readonly paths: readonly string[];
  readonly changes: readonly LeaseChange[];
}

/** The result of each watch: an error, its lifetime, or the lines that it sends before it stays open. A further watch stays open. */
async function watch(outcomes: readonly (Error | number | string)[], forMs: number, random = 0): Promise<Watching> {
  const clock = new FakeClock();
  const seen: number[] = [];
  const paths: string[] = [];
  const changes: LeaseChange[] = [];
  const stream: ApiClient['stream'] = ({ path }, signal) => {
    const outcome = outcomes[seen.length] ?? Infinity;
    seen.push(clock.monotonicMs() / 1000);
    paths.push(path);
    if (outcome instanceof Error) return Promise.reject(outcome);
    const body = (async function* (): AsyncGenerator<Uint8Array> {
      if (typeof outcome === 'string') yield Buffer.from(outcome);
      await clock.sleep(typeof outcome === 'number' ? outcome : Infinity, signal);
    })();
    return Promise.resolve({ status: 200, headers: {}, body });
  };
  const stop = new AbortController();
  const watching = watchLease(
    {
      client: { stream } as ApiClient,
      clock,
      random: { next: () => random, uuid: () => '' },
      config: { namespace: 'kube-system', name: 'driver', retryPeriodMs: 5000 },
    },
    (change) => void changes.push(change),
    stop.signal,
  );
  await clock.advance(forMs);
  stop.abort();
  await watching;
  expect(clock.pending).toBe(0);
  return { openedAt: seen, paths, changes };
}

async function openedAt(outcomes: readonly (Error | number | string)[], forMs: number, random = 0): Promise<unknown> {
  return (await watch(outcomes, forMs, random)).openedAt;
}

const line = (event: object): string => `${JSON.stringify(event)}\n`;
const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'driver', resourceVersion: '7' },
};

describe('opening the watch again', () => {
  it('given a watch that ends after a second, then it is opened again at once; after 999 ms, it counts as a failure', async () => {
    expect(await openedAt([1000], 1500)).toEqual([0, 1]);
    expect(await openedAt([999], 20_000)).toEqual([0, 5.999]);
  });

  it('given failures, then the pauses double, and start over after a watch that stayed open for a while', async () => {
    expect(await openedAt([broken, broken, broken, 60_000, broken], 200_000)).toEqual([0, 5, 15, 35, 95, 100]);
  });

  it('given a role that forbids the watch, then it is opened again only after five minutes', async () => {
    expect(await openedAt([forbidden, forbidden], 700_000)).toEqual([0, 300, 600]);
  });

  it('given watches that end as soon as they have begun, then they count as failures', async () => {
    expect(await openedAt([10, 10], 100_000)).toEqual([0, 5.01, 15.02]);
  });

  it('given a random part, then pauses are up to a fifth longer', async () => {
    expect(await openedAt([broken], 20_000, 0.5)).toEqual([0, 5.5]);
  });

  it.each([
    ['an error of the server', line({ type: 'ERROR', object: { kind: 'Status', code: 410, message: 'gone' } })],
    ['a line that cannot be decoded', 'no json\n'],
    ['the beginning of a line of more than 1 MiB', 'x'.repeat(2 ** 20 + 1)],
  ])('given %s in the stream, then the failure is reported and the watch is opened again', async (_what, text) => {
    const { openedAt: times, changes } = await watch([text], 20_000);
    expect([times, changes.map(({ kind }) => kind)]).toEqual([
      [0, 5],
      ['opened', 'failed', 'opened'],
    ]);
  });
});

describe('the watch', () => {
  it('given a Lease, then only this Lease is watched, from its current state on, for five to ten minutes', async () => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
    const query = (seconds: number): string =>
      `${path}?watch=true&fieldSelector=metadata.name%3Ddriver&resourceVersion=0&timeoutSeconds=${seconds}`;
    expect((await watch([], 1000)).paths).toEqual([query(300)]);
    expect((await watch([], 1000, 0.5)).paths).toEqual([query(450)]);
  });

  it('given changes, bookmarks and a deletion, then changes and the deletion are reported in order', async () => {
    const events = [
      { type: 'ADDED', object: lease },
      { type: 'BOOKMARK', object: { ...lease, metadata: { resourceVersion: '8' } } },
      { type: 'DELETED', object: lease },
    ];
    const { changes } = await watch([events.map(line).join('')], 1000);
    expect(changes).toEqual([{ kind: 'opened' }, { kind: 'seen', lease }, { kind: 'deleted' }]);
  });

  it('given failures, then each is reported with its error; given a stop, then nothing is', async () => {
    const { changes } = await watch([broken, 10], 11_000);
    expect(changes).toEqual([
      { kind: 'failed', error: broken },
      { kind: 'opened' },
      { kind: 'failed', error: new Error('the watch ended as soon as it had begun') },
    ]);
    expect((await watch([], 1000)).changes).toEqual([{ kind: 'opened' }]);
  });
});
