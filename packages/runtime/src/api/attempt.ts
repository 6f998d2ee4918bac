// SPDX-License-Identifier: Apache-2.0
/** One attempt of a call: a bounded exchange whose answer is read at once, or a stream that outlives the attempt. */
import type { Clock, Timer } from '../clock/clock.ts';
import { DeadlineError, linkSignals, type LinkedSignal } from '../clock/deadline.ts';
import { decodedBody } from './content-encoding.ts';
import { noAnswer, type RequestMetrics } from './request-metrics.ts';
import { isSuccess, mediaType, readError, unexpectedMediaType } from './response.ts';
import { parseRetryAfterMs } from './retry-policy.ts';
import type { Attempt, AttemptResult, Call } from './send.ts';
import { toError } from './errors.ts';
import type { Transport, TransportRequest, TransportResponse } from './transport.ts';

export interface AttemptDeps {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics?: RequestMetrics | undefined;
}

export interface Attempts {
  /** Resolves with what `read` makes of a 2xx answer. */
  readonly unary: <T>(read: (request: TransportRequest, response: TransportResponse) => Promise<T>) => Attempt<T>;
  readonly stream: Attempt<TransportResponse>;
}

export function attempts({ transport, clock, metrics }: AttemptDeps, logWarning: (header?: string) => void): Attempts {
  /** The duration ends when the head of the answer arrives, as in client-go. */
  const measured = async (request: TransportRequest, { exchanged }: RequestMetrics): Promise<TransportResponse> => {
    const { method } = request;
    const sentMs = clock.monotonicMs();
    let code = noAnswer;
    try {
      const response = await transport(request);
      code = String(response.status);
      return response;
    } finally {
      exchanged({ method, code, ms: clock.monotonicMs() - sentMs });
    }
  };
  const exchange = async (request: TransportRequest): Promise<TransportResponse> => {
    const response = await (metrics === undefined ? transport(request) : measured(request, metrics));
    logWarning(response.headers['warning']);
    return response;
  };

  const alarmOf = (linked: LinkedSignal, leftMs: number): Timer | undefined =>
    leftMs === Infinity ? undefined : clock.timer(leftMs, () => linked.abort(new DeadlineError(leftMs)));

  const unary: Attempts['unary'] = (read) => async (call, leftMs) => {
    const linked = linkSignals([call.signal]);
    using _ = alarmOf(linked, leftMs);
    try {
      const request: TransportRequest = { ...call.request, signal: linked.signal };
      const response = await exchange(request);
      if (!isSuccess(response)) return await refused(request, response);
      return { value: await read(request, response), status: response.status };
    } catch (error) {
      return { error: toError(error) };
    } finally {
      // The answer has been read, or there is none: no caller is waiting any more.
      linked.release();
    }
  };

  const open = async (call: Call, signal: AbortSignal): Promise<AttemptResult<TransportResponse>> => {
    try {
      const request: TransportRequest = { ...call.request, signal };
      const response = await exchange(request);
      if (!isSuccess(response)) return await refused(request, response);
      return { value: { ...response, body: await acceptedBody(request, response) } };
    } catch (error) {
      return { error: toError(error) };
    }
  };
  /** The deadline applies until the body ends. Its timer and its listener are removed then. */
  const stream: Attempt<TransportResponse> = async (call, leftMs) => {
    const linked = linkSignals([call.signal]);
    const alarm = alarmOf(linked, leftMs);
    const { silenceMs = Infinity } = call;
    const watched: Watched = {
      wait: async (arrival) => {
        using _ = alarmOf(linked, silenceMs);
        return await arrival();
      },
      release: () => {
        alarm?.cancel();
        linked[Symbol.dispose]();
      },
    };
    const result = await watched.wait(() => open(call, linked.signal));
    // A watch has no deadline, and the caller knows how long it may be silent.
    const reads: Watched = leftMs === Infinity ? { ...watched, wait: (arrival) => arrival() } : watched;
    if ('value' in result) return { value: { ...result.value, body: watchReads(result.value.body, reads) } };
    watched.release();
    return result;
  };

  return { unary, stream };
}

async function refused(request: TransportRequest, response: TransportResponse): Promise<AttemptResult<never>> {
  const retryAfterMs = parseRetryAfterMs(response.headers['retry-after']);
  return { error: await readError(request, response), retryAfterMs };
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

interface Watched {
  /** Waits for the head or for a chunk, not longer than the silence that is allowed. */
  readonly wait: <T>(arrival: () => Promise<T>) => Promise<T>;
  /** The body has ended, in whatever way. */
  readonly release: () => void;
}

function watchReads(body: AsyncIterable<Uint8Array>, { wait, release }: Watched): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]: () => {
      const inner = body[Symbol.asyncIterator]();
      return {
        next: async () => {
          try {
            const result = await wait(() => inner.next());
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
