// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from '../../testing/index.ts';
import { ApiError } from '../api/errors.ts';
import type { SyncProgress } from './informer.ts';
import { whenAllSynced } from './sync-limit.ts';

const timeoutMs = 60_000;

function anInformer(collection: string) {
  const synced = Promise.withResolvers<boolean>();
  let progress: SyncProgress = { collection, received: 0, failure: undefined };
  return {
    sync: () => synced.resolve(true),
    now: (more: Partial<SyncProgress>) => (progress = { ...progress, ...more }),
    get progress() {
      return progress;
    },
    whenSynced: (signal: AbortSignal) => {
      signal.addEventListener('abort', () => synced.resolve(false));
      return synced.promise;
    },
  };
}

function waitFor(informers: Parameters<typeof whenAllSynced>[0], limitMs = timeoutMs) {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const stop = new AbortController();
  const seen: unknown[] = [];
  whenAllSynced(informers, { clock, logger }, { timeoutMs: limitMs, signal: stop.signal }).then(
    (synced) => seen.push(synced),
    (error: Error) => seen.push(error.message),
  );
  return { clock, logger, stop, seen };
}

it('[runtime#253] given caches that sync in time, then they are waited for, and no timer is left', async () => {
  const [a, b] = [anInformer('a'), anInformer('b')];
  const { clock, seen, logger } = waitFor([a, b]);
  a.sync();
  await clock.advance(timeoutMs - 1);
  expect(seen).toEqual([]);
  b.sync();
  await settle();
  expect([seen, clock.pending, logger.lines]).toEqual([[true], 0, []]);
});

it('[runtime#253] given caches of which nothing arrives in time, then the log has each with its last failure, and the error names them', async () => {
  const [a, missing, secrets, quiet] = [anInformer('a'), anInformer('b'), anInformer('secrets'), anInformer('quiet')];
  const failed = (status: number, reason: string) => new ApiError({ status, reason, message: 'no' });
  const [notFound, forbidden] = [failed(404, 'NotFound'), failed(403, 'Forbidden')];
  missing.now({ failure: notFound });
  secrets.now({ failure: forbidden });
  const { clock, seen, logger } = waitFor([a, missing, secrets, quiet]);
  a.sync();
  await clock.advance(timeoutMs);
  expect(seen).toEqual(['caches have not synced within 60 s: b, secrets, quiet']);
  const line = (error: Error | undefined, reflector: string, hint: object) => ({
    kind: 'error',
    message: 'The cache has not synced',
    error,
    facts: { reflector, seconds: 60, ...hint },
  });
  expect(logger.lines).toMatchObject([
    line(notFound, 'b', { hint: 'is the definition of this kind installed?' }),
    line(forbidden, 'secrets', { hint: 'the role of this account needs list and watch' }),
    line(undefined, 'quiet', {}),
  ]);
  expect(clock.pending).toBe(0);
});

it('[runtime#253] given a list that arrives for longer, then it is waited for as long as something came since the last look', async () => {
  const big = anInformer('big');
  const { clock, seen } = waitFor([big]);
  for (const received of [10, 20]) {
    big.now({ received });
    await clock.advance(timeoutMs);
  }
  expect(seen).toEqual([]);
  await clock.advance(timeoutMs);
  expect(seen).toEqual(['caches have not synced within 60 s: big']);
});

it('[runtime#253] given a cache that waits for another one, then only the other one is late, and then its time begins', async () => {
  const [first, second] = [anInformer('first'), anInformer('second')];
  second.now({ received: undefined });
  const { clock, seen } = waitFor([first, second]);
  first.now({ received: 1 });
  await clock.advance(timeoutMs);
  first.sync();
  await clock.advance(timeoutMs);
  second.now({ received: 0 });
  expect(seen).toEqual([]);
  await clock.advance(timeoutMs);
  expect(seen).toEqual(['caches have not synced within 60 s: second']);
});

it('[runtime#253] given a cache that does not say how far it has come, then it has the time, too', async () => {
  const { clock, seen } = waitFor([{ whenSynced: () => new Promise(() => undefined) }]);
  await clock.advance(timeoutMs);
  expect(seen).toEqual(['caches have not synced within 60 s: unknown']);
});

it('[runtime#253] given no limit, then caches are waited for until the stop, and no timer runs', async () => {
  const { clock, seen, stop } = waitFor([anInformer('a')], 0);
  expect(clock.pending).toBe(0);
  await clock.advance(10 * timeoutMs);
  expect(seen).toEqual([]);
  stop.abort(new Error('stop'));
  await settle();
  expect(seen).toEqual([false]);
});
