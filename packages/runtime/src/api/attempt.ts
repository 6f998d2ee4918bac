// SPDX-License-Identifier: Apache-2.0
/** One attempt of a call: a bounded exchange whose answer is read at once, or a stream that outlives the attempt. */
import type { Clock, Timer } from '../clock/clock.ts';
import { DeadlineError, linkSignals, type LinkedSignal } from '../clock/deadline.ts';
import { decodedBody } from './content-encoding.ts';
import { ApiError } from './errors.ts';
import { noAnswer, type RequestMetrics } from './request-metrics.ts';
import { type Expected, isSuccess, mediaType, readError, readValue, unexpectedMediaType } from './response.ts';
import { parseRetryAfterMs } from './retry-policy.ts';
import type { Attempt, AttemptResult } from './send.ts';
import { type Transport, TransportError, type TransportRequest, type TransportResponse } from './transport.ts';

export interface AttemptDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics?: RequestMetrics | undefined;
}

export interface Attempts {
  /** Resolves with the decoded answer. */
  readonly unary: (expected: Expected) => Attempt<unknown>;
  readonly stream: Attempt<TransportResponse>;
}

export function attempts({ transport, clock, metrics }: AttemptDeps, logWarning: (header?: string) => void): Attempts {
  /** The time until the head of the answer is there counts, as in client-go. */
  const measured = async (request: TransportRequest): Promise<TransportResponse> => {
    if (metrics === undefined) return transport(request);
    const { method } = request;
    const sentMs = clock.monotonicMs();
    let code = noAnswer;
    try {
      const response = await transport(request);
      code = String(response.status);
      return response;
    } finally {
      metrics.exchanged({ method, code, ms: clock.monotonicMs() - sentMs });
    }
  };
  const exchange = async (request: TransportRequest): Promise<AttemptResult<TransportResponse>> => {
    const response = await measured(request);
    logWarning(response.headers['warning']);
    if (isSuccess(response)) return { kind: 'success', value: response };
    const retryAfterMs = parseRetryAfterMs(response.headers['retry-after']);
    return { kind: 'failure', error: await readError(request, response), retryAfterMs };
  };

  const alarmOf = (linked: LinkedSignal, leftMs: number): Timer | undefined =>
    leftMs === Infinity ? undefined : clock.timer(leftMs, () => linked.abort(new DeadlineError(leftMs)));

  const unary =
    (expected: Expected): Attempt<unknown> =>
    async (call, leftMs) => {
      const linked = linkSignals([call.signal]);
      const alarm = alarmOf(linked, leftMs);
      try {
        const request: TransportRequest = { ...call.request, signal: linked.signal };
        const result = await exchange(request);
        if (result.kind === 'failure') return result;
        return { kind: 'success', value: await readValue(request, result.value, expected) };
      } catch (error) {
        return asFailure(error);
      } finally {
        alarm?.cancel();
        // The answer is read, or there is none: nobody is left who would have to be told.
        linked.release();
      }
    };

  /** The deadline lasts until the body has ended, and nothing of it stays behind then. */
  const stream: Attempt<TransportResponse> = async (call, leftMs) => {
    const linked = linkSignals([call.signal]);
    const alarm = alarmOf(linked, leftMs);
    const release = (): void => {
      alarm?.cancel();
      linked[Symbol.dispose]();
    };
    try {
      const request: TransportRequest = { ...call.request, signal: linked.signal };
      const result = await exchange(request);
      if (result.kind === 'success') {
        const body = await acceptedBody(request, result.value);
        return { kind: 'success', value: { ...result.value, body: thenRelease(body, release) } };
      }
      release();
      return result;
    } catch (error) {
      release();
      return asFailure(error);
    }
  };

  return { unary, stream };
}

function asFailure(error: unknown): AttemptResult<never> {
  if (error instanceof TransportError || error instanceof ApiError) return { kind: 'failure', error };
  throw error;
}

async function acceptedBody(
  request: TransportRequest,
  response: TransportResponse,
): Promise<AsyncIterable<Uint8Array>> {
  const type = mediaType(response);
  const accepted = (request.headers['accept'] ?? '').split(',').map((range) => range.split(';', 1)[0]?.trim());
  if (type !== undefined && !accepted.includes(type)) throw await unexpectedMediaType(request, response);
  return decodedBody(response);
}

function thenRelease(body: AsyncIterable<Uint8Array>, release: () => void): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const inner = body[Symbol.asyncIterator]();
      return {
        next: async () => {
          try {
            const result = await inner.next();
            if (result.done === true) release();
            return result;
          } catch (error) {
            release();
            throw error;
          }
        },
        return: async () => {
          try {
            await inner.return?.();
          } finally {
            release();
          }
          return { done: true, value: undefined };
        },
      };
    },
  };
}
