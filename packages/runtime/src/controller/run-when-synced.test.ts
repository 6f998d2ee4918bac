// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from '../../testing/index.ts';
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

/** Whether the work has started, and the end of the run. */
function run(informers: Parameters<typeof runWhenSynced>[0]['informers'], { signal } = new AbortController()) {
  let started = false;
  const work = async () => {
    started = true;
  };
  const running = runWhenSynced({ clock: new FakeClock(), logger: recordingLogger(), informers }, work, signal);
  return { running, hasStarted: () => started };
}

it('given several informers, then work starts when the last of them is synced', async () => {
  const informers = [anInformer(), anInformer()] as const;
  const { running, hasStarted } = run(informers);
  informers[0].becomeSynced();
  await settle();
  expect(hasStarted()).toBe(false);
  informers[1].becomeSynced();
  await running;
  expect(hasStarted()).toBe(true);
});

it('[runtime#173] given a stop while waiting for caches, then it ends without starting any work', async () => {
  const informers = [anInformer(), anInformer()] as const;
  const stop = new AbortController();
  const { running, hasStarted } = run(informers, stop);
  informers[0].becomeSynced();
  await settle();
  stop.abort(new OrderlyStop());
  await running;
  expect(hasStarted()).toBe(false);
});

it.each([
  { when: 'an informer that will not be synced', synced: false, isStopped: false },
  { when: 'a stop in the moment in which the caches are synced', synced: true, isStopped: true },
])('given $when, then no work is started', async ({ synced, isStopped }) => {
  const stop = new AbortController();
  if (isStopped) stop.abort(new OrderlyStop());
  const { running, hasStarted } = run([{ whenSynced: async () => synced }], stop);
  await running;
  expect(hasStarted()).toBe(false);
});
