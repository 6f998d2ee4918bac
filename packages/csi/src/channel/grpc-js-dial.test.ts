// SPDX-License-Identifier: Apache-2.0
/** The timers of a connection; what calls do is in connect.test.ts. */
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { serveCsi } from '../../testing/index.ts';
import { dialer } from './grpc-js-dial.ts';

const day = 86_400_000;

class RecordingClock extends FakeClock {
  readonly limits: number[] = [];
  override timer(ms: number, callback: () => void): ReturnType<FakeClock['timer']> {
    this.limits.push(ms);
    return super.timer(ms, callback);
  }
}

it('given a connection, then it is used once a day, so that it never becomes idle, and leaves no timer when it is closed', async () => {
  await using server = await serveCsi({});
  const clock = new RecordingClock();
  const dialled = await dialer(clock)({ kind: 'unix', text: server.path, path: server.path, lossIsVisible: true });
  if (dialled.kind === 'failed') throw new Error(dialled.reason);
  expect([clock.limits, clock.pending]).toEqual([[1000, 1000, day], 1]);
  await clock.advance(2 * day);
  expect([clock.limits, clock.pending]).toEqual([[1000, 1000, day, day, day], 1]);
  dialled.connection.close();
  await dialled.connection.ended;
  expect(clock.pending).toBe(0);
});
