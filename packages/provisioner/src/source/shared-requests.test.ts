// SPDX-License-Identifier: Apache-2.0
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { expect, it } from 'vitest';
import { createSharedRequests } from './shared-requests.ts';

function someRequests() {
  const clock = new FakeClock();
  const requests = createSharedRequests(clock);
  let sent = 0;
  /** The answer is the number of the request. */
  const get = (name = 'a'): Promise<number> => requests.get(name, async () => (sent += 1));
  return { clock, requests, get };
}

it('given a request that was sent less than a second ago, then it serves all who ask, under way or answered; after that another is sent', async () => {
  const { clock, get } = someRequests();
  expect(await Promise.all([get(), get(), get('b')])).toEqual([1, 1, 2]);
  await clock.advance(999);
  expect(await get()).toBe(1);
  await clock.advance(1);
  expect(await get()).toBe(3);
});

it('given a request that is not answered within a second, then another is sent, and its answer is kept although the first fails afterwards', async () => {
  const { clock, requests, get } = someRequests();
  const silent = Promise.withResolvers<number>();
  const first = requests.get('a', () => silent.promise);
  await clock.advance(1_000);
  expect(await get()).toBe(1);
  silent.reject(new Error('timeout'));
  await expect(first).rejects.toThrow('timeout');
  expect(await get()).toBe(1);
});

it('given a request that fails, then all who wait for it get the failure, and the next one is sent', async () => {
  const { requests, get } = someRequests();
  const failing = (): Promise<number> => requests.get('a', () => Promise.reject(new Error('away')));
  for (const each of [failing(), failing()]) await expect(each).rejects.toThrow('away');
  expect(await get()).toBe(1);
});
