// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import { keepAlive } from './node-process.ts';

it('given a process that only waits, then a sleep keeps it alive until it is disposed', async () => {
  const clock = new FakeClock();
  const kept = keepAlive(clock);
  await clock.advance(1e9);
  expect(clock.pending).toBe(1);
  kept[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});
