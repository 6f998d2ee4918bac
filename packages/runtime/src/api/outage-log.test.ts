// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { FakeClock, recordingLogger } from '../../testing/index.ts';
import type { ApiClient } from './client.ts';
import { ApiError } from './errors.ts';
import { withOutageLog } from './outage-log.ts';
import { TransportError } from './transport.ts';

const refused = new TransportError('refused', 'connect ECONNREFUSED');
const response = { status: 200, headers: {}, body: (async function* () {})() };

const setUp = () => {
  const clock = new FakeClock();
  const logger = recordingLogger();
  let outcome: Error | undefined;
  const stream: ApiClient['stream'] = async () => (outcome === undefined ? response : Promise.reject(outcome));
  const client = withOutageLog({ clock, logger }, { stream });
  /** One attempt of an informer. */
  const ask = async (error?: Error, signal = new AbortController().signal): Promise<unknown> => {
    outcome = error;
    try {
      return await client.stream({ purpose: 'watch', path: '/w' }, signal);
    } catch (caught) {
      return caught;
    }
  };
  const lines = () => logger.lines.map(({ kind, message, facts }) => [kind, message, facts]);
  return { clock, logger, ask, lines };
};
const hint = 'Nothing works until the API server can be reached from this pod';
const silent = 'Lists and watches of the API server fail';

it('[runtime#41a] given three informers that are refused every second for ten minutes, then one line comes after 5 s, and further ones at a pace that doubles up to 5 min', async () => {
  const { clock, logger, ask, lines } = setUp();
  for (let second = 0; second < 1_000; second += 1) {
    for (let informer = 0; informer < 3; informer += 1) expect(await ask(refused)).toBe(refused);
    await clock.advance(1_000);
  }
  expect(lines()).toEqual(
    [5, 15, 35, 75, 155, 315, 615, 915].map((forSeconds) => ['error', silent, { forSeconds, hint }]),
  );
  expect(logger.lines.map((line) => (line.kind === 'error' ? line.error : undefined))).toEqual(
    Array.from({ length: 8 }, () => refused),
  );
});

it('[runtime#41a] given an outage that was logged, when a watch is answered, then that is logged once, and the next outage is a new one', async () => {
  const { clock, ask, lines } = setUp();
  await ask(refused);
  await clock.advance(7_000);
  await ask(refused);
  await clock.advance(2_000);
  expect([await ask(), await ask()]).toEqual([response, response]);
  await ask(refused);
  await clock.advance(4_999);
  await ask(refused);
  expect(lines()).toEqual([
    ['error', silent, { forSeconds: 7, hint }],
    ['info', 'The API server answers again', { afterSeconds: 9 }],
  ]);
});

it('given attempts that fail for less than 5 s, then nothing is logged', async () => {
  const { clock, ask, lines } = setUp();
  await ask(refused);
  await clock.advance(4_999);
  await ask(refused);
  await ask();
  expect(lines()).toEqual([]);
});

it.each([
  ['a server that is too busy', new ApiError({ status: 429, reason: 'TooManyRequests', message: 'slow down' }), 1],
  ['a missing permission, which is logged elsewhere', new ApiError({ status: 403, message: 'no' }), 0],
])('given %s for 5 s, then the number of lines is right', async (_, error, expected) => {
  const { clock, ask, lines } = setUp();
  await ask(error);
  await clock.advance(5_000);
  await ask(error);
  expect(lines()).toHaveLength(expected);
});

it('given a program that ends, then requests that it cancels are no outage', async () => {
  const { clock, ask, lines } = setUp();
  await ask(refused);
  await clock.advance(5_000);
  await ask(new TransportError('aborted', 'stopped'), AbortSignal.abort());
  expect(lines()).toEqual([]);
});
