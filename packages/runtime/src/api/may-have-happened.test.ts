// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, scriptedTransport, type ScriptedStep } from '../../testing/index.ts';
import { silentLogger } from '../log/logger.ts';
import { createApiClient } from './create-client.ts';
import { ApiError } from './errors.ts';
import { mayHaveHappened } from './may-have-happened.ts';
import { persistentVolumes } from './resource.ts';
import { TransportError, type TransportFailure } from './transport.ts';

const api = (status: number): ApiError => new ApiError({ status, message: 'no' });
const transport = (failure: TransportFailure): TransportError => new TransportError(failure, failure);

describe('whether a write that failed may have happened', () => {
  it.each(['refused', 'lookup', 'tls', 'credentials', 'unprocessed'] as const)(
    '[runtime#200] given the failure %s, then the write was not sent or not processed, so it did not happen',
    (failure) => expect(mayHaveHappened(transport(failure))).toBe(false),
  );

  it.each(['timeout', 'reset', 'eof', 'aborted'] as const)(
    '[runtime#200] given the failure %s, then the write may have happened',
    (failure) => expect(mayHaveHappened(transport(failure))).toBe(true),
  );

  it.each([400, 403, 404, 409, 410, 413, 422, 429])(
    '[runtime#200] given the answer %i, then the write was refused',
    (status) => expect(mayHaveHappened(api(status))).toBe(false),
  );

  it.each([200, 408, 500, 502, 503, 504])(
    '[runtime#200] given the answer %i that is an error, then the write may have happened',
    (status) => expect(mayHaveHappened(api(status))).toBe(true),
  );

  it('[runtime#200] given something else that was thrown, then the write may have happened', () => {
    expect([mayHaveHappened(new Error('?')), mayHaveHappened('?')]).toEqual([true, true]);
  });
});

describe('a call of several attempts', () => {
  const busy: ScriptedStep = { status: 503, headers: { 'retry-after': '1' } };
  const throttled: ScriptedStep = { status: 429, headers: { 'retry-after': '1' } };

  async function errorOf(...steps: readonly [ScriptedStep, ...ScriptedStep[]]): Promise<unknown> {
    const clock = new FakeClock();
    const client = createApiClient(
      { transport: scriptedTransport(...steps).transport, clock, logger: silentLogger },
      { userAgent: 'test', qps: -1, burst: 0 },
    );
    const target = { resource: persistentVolumes, ref: { name: 'a' } };
    const failed = client.patch(target, { type: 'merge', body: {} }).catch((error: unknown) => error);
    await clock.advance(10_000);
    return await failed;
  }

  it('[runtime#200] given a 503 that asks to wait and then no connection, then the first attempt may have happened', async () => {
    const error = await errorOf(busy, transport('refused'));
    expect([error instanceof TransportError && error.failure, mayHaveHappened(error)]).toEqual(['refused', true]);
  });

  it('[runtime#200] given a 429 that asks to wait and then no connection, then no attempt happened', async () => {
    const error = await errorOf(throttled, transport('refused'));
    expect([error instanceof TransportError && error.failure, mayHaveHappened(error)]).toEqual(['refused', false]);
  });
});
