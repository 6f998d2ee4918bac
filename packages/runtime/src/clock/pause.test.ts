// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { pause } from './deadline.ts';

it('given a pause that is aborted, then it ends without an error', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const pausing = pause(clock, 1_000, stop.signal);
  stop.abort();
  await pausing;
  expect(clock.pending).toBe(0);
});

it('given a clock that fails, then the pause fails with its error', async () => {
  const clock = new FakeClock();
  clock.sleep = () => Promise.reject(new Error('no timers are left'));
  await expect(pause(clock, 1_000, new AbortController().signal)).rejects.toThrow('no timers are left');
});
