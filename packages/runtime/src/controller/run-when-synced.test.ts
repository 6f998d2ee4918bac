// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { recordingLogger, settle } from '../../testing/index.ts';
import { OrderlyStop } from '../process/orderly-stop.ts';
import { runWhenSynced } from './run-when-synced.ts';

function anInformer() {
  const synced = Promise.withResolvers<boolean>();
  return {
    becomeSynced: () => synced.resolve(true),
    whenSynced: (signal: AbortSignal) => {
      signal.addEventListener('abort', () => synced.resolve(false), { once: true });
      return synced.promise;
    },
  };
}

it('given several informers, then work starts when the last of them is synced', async () => {
  const informers = [anInformer(), anInformer()] as const;
  let started = false;
  const running = runWhenSynced(
    { logger: recordingLogger(), informers },
    async () => {
      started = true;
    },
    new AbortController().signal,
  );
  informers[0].becomeSynced();
  await settle();
  expect(started).toBe(false);
  informers[1].becomeSynced();
  await running;
  expect(started).toBe(true);
});

it('[runtime#173] given a stop while waiting for caches, then it ends without starting any work', async () => {
  const informers = [anInformer(), anInformer()] as const;
  const stop = new AbortController();
  let started = false;
  const running = runWhenSynced(
    { logger: recordingLogger(), informers },
    async () => {
      started = true;
    },
    stop.signal,
  );
  informers[0].becomeSynced();
  await settle();
  stop.abort(new OrderlyStop());
  await running;
  expect(started).toBe(false);
});

it.each([
  { when: 'an informer that will not be synced', synced: false, isStopped: false },
  { when: 'a stop in the moment in which the caches are synced', synced: true, isStopped: true },
])('given $when, then no work is started', async ({ synced, isStopped }) => {
  const stop = new AbortController();
  if (isStopped) stop.abort(new OrderlyStop());
  let started = false;
  await runWhenSynced(
    { logger: recordingLogger(), informers: [{ whenSynced: async () => synced }] },
    async () => {
      started = true;
    },
    stop.signal,
  );
  expect(started).toBe(false);
});
