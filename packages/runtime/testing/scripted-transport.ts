// SPDX-License-Identifier: Apache-2.0
/** A transport that answers from a list, for tests of what happens when answers are bad, late or missing. */
import { definedOnly } from '../src/api/defined-only.ts';
import { abortError, TransportError, type TransportRequest, type TransportResponse } from '../src/api/transport.ts';

export interface ScriptedAnswer {
  /** Default 200. */
  readonly status?: number;
  /** Default: `content-type: application/json`; undefined removes it. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Text, bytes or anything else as JSON; several chunks as an array of bytes. Default `{}`. */
  readonly body?: unknown;
  /** The error with which the body ends, after its bytes. */
  readonly broken?: TransportError;
}

/** `hang`: no answer until the signal aborts. */
export type ScriptedStep = ScriptedAnswer | TransportError | 'hang' | ((request: TransportRequest) => ScriptedAnswer);

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

export interface ScriptedTransport {
  readonly transport: (request: TransportRequest) => Promise<TransportResponse>;
  readonly requests: readonly SentRequest[];
  /** Bodies that were neither read to their end nor ended. */
  readonly openBodies: () => number;
}

/** Answers in order; the last step answers all that come after it. */
export function scriptedTransport(...steps: readonly [ScriptedStep, ...ScriptedStep[]]): ScriptedTransport {
  const requests: SentRequest[] = [];
  let open = 0;
  const transport = async (request: TransportRequest): Promise<TransportResponse> => {
    const { method, path, headers, body, signal } = request;
    if (signal.aborted) throw abortError(signal);
    const step = steps[Math.min(requests.length, steps.length - 1)] ?? 'hang';
    requests.push({ method, path, headers, body: body && Buffer.from(body).toString() });
    if (step === 'hang') return await untilAborted(signal);
    if (step instanceof TransportError) throw step;
    const answer = typeof step === 'function' ? step(request) : step;
    open += 1;
    return {
      status: answer.status ?? 200,
      headers: definedOnly({ 'content-type': 'application/json', ...answer.headers }),
      body: bodyOf(answer, () => (open -= 1)),
    };
  };
  return { transport, requests, openBodies: () => open };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(abortError(signal)), { once: true });
  });
}

function bodyOf({ body = {}, broken }: ScriptedAnswer, close: () => void): AsyncIterable<Uint8Array> {
  const chunks = chunksOf(body);
  let finished = false;
  const finish = (): IteratorResult<Uint8Array> => {
    if (!finished) close();
    finished = true;
    return { done: true, value: undefined };
  };
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const value = finished ? undefined : chunks.shift();
        if (value !== undefined) return { done: false, value };
        if (!finished && broken !== undefined) {
          finish();
          throw broken;
        }
        return finish();
      },
      return: async () => finish(),
    }),
  };
}

function chunksOf(body: unknown): Uint8Array[] {
  if (Array.isArray(body) && body.every((chunk) => chunk instanceof Uint8Array)) return [...body];
  if (body instanceof Uint8Array) return [body];
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return text === '' ? [] : [Buffer.from(text)];
}
