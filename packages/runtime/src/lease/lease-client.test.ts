// SPDX-License-Identifier: Apache-2.0
/** One request about the Lease: its time limits, its signal, and the kinds of its failures. */
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/index.ts';
import type { ApiClient } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { callLease } from './lease-client.ts';

type GetLease = (ref: object, options: { readonly signal: AbortSignal; readonly timeoutMs: number }) => Promise<object>;

function calling(get: GetLease, parent = new AbortController()) {
  const clock = new FakeClock();
  const client = {
    get: (_resource: unknown, ref: object, options: never) => get(ref, options),
  } as unknown as ApiClient;
  const place = { namespace: 'ns', name: 'lock' };
  const call = { request: { kind: 'get' }, timeoutMs: 5000, signal: parent.signal } as const;
  return { clock, parent, answer: callLease({ client, clock }, place, call) };
}
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

it('given an answer, then it is returned, and the client was given the time limit as well', async () => {
  const seen: unknown[] = [];
  const lease = { metadata: { name: 'lock' } };
  const { answer, clock } = calling(async (ref, { timeoutMs }) => {
    seen.push([ref, timeoutMs]);
    return lease;
  });
  expect([await answer, seen, clock.pending]).toEqual([
    { kind: 'ok', lease },
    [[{ namespace: 'ns', name: 'lock' }, 5000]],
    0,
  ]);
});

it('given a client that does not end by itself, then the call fails at its time limit', async () => {
  const { answer, clock } = calling(async (_ref, { signal }) => untilAborted(signal));
  await clock.advance(5000);
  expect(await answer).toMatchObject({ kind: 'failed', error: { message: 'deadline of 5000 ms exceeded' } });
});

it('given a call that is cancelled, then its request ends at once with the reason', async () => {
  const { answer, parent } = calling(async (_ref, { signal }) => untilAborted(signal));
  parent.abort(new Error('cancelled'));
  expect(await answer).toEqual({ kind: 'failed', error: new Error('cancelled') });
});

it.each([
  [404, 'NotFound', 'missing'],
  [409, 'Conflict', 'conflict'],
  [500, 'InternalError', 'failed'],
])('given the answer %i %s, then it counts as %s, with its error', async (status, reason, kind) => {
  const error = new ApiError({ status, reason, message: 'no' });
  const { answer } = calling(() => Promise.reject(error));
  expect(await answer).toEqual({ kind, error });
});
