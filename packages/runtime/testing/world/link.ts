// SPDX-License-Identifier: Apache-2.0
/**
 * The network between a process and an API server. A request arrives in a task of the server, its answer in a task of the process, so that
 * whatever else is due can happen in between. Frames of a watch keep their order, and each of them is late by what `watchLagMs` says.
 *
 * Guarantees: a request that was sent takes effect even if its process dies meanwhile; no answer reaches a dead process.
 */
import { abortError, type Transport, type TransportRequest, type TransportResponse } from '../../src/api/transport.ts';
import type { ScheduledProcess } from './schedule.ts';

export interface LinkOptions {
  readonly process: ScheduledProcess;
  readonly server: ScheduledProcess;
  readonly transport: Transport;
  /** One way, for the next message. Default 0. */
  readonly delayMs?: () => number;
  /** How late the next frame of the watch is. Default 0. */
  readonly watchLagMs?: (path: string) => number;
}

export function createLink({ process, server, transport, delayMs = none, watchLagMs = none }: LinkOptions): Transport {
  return (request) =>
    new Promise((resolve, reject) => {
      const { signal } = request;
      if (signal.aborted) return reject(abortError(signal));
      const onAbort = (): void => reject(abortError(signal));
      signal.addEventListener('abort', onAbort, { once: true });
      const arrive = (deliver: () => void): void =>
        process.post(() => {
          signal.removeEventListener('abort', onAbort);
          deliver();
        }, delayMs());
      const ask = async (): Promise<void> => {
        try {
          const response = await transport(request);
          const lagMs = (): number => watchLagMs(request.path);
          const answer = isWatch(request)
            ? { ...response, body: relayed(response.body, process, lagMs) }
            : await collected(response);
          arrive(() => resolve(answer));
        } catch (error) {
          arrive(() => reject(error));
        }
      };
      server.post(() => {
        if (!signal.aborted) void ask();
      }, delayMs());
    });
}

const none = (): number => 0;

function isWatch({ method, path }: TransportRequest): boolean {
  return method === 'GET' && /[?&]watch=(true|1)/.test(path);
}

async function collected(response: TransportResponse): Promise<TransportResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  return { ...response, body: listed(chunks) };
}

async function* listed(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

type Frame = { readonly chunk: Uint8Array } | { readonly end: Error | undefined };

/** Reads ahead, as a socket does, so that lateness does not add up. Ends with its process. */
function relayed(
  body: AsyncIterable<Uint8Array>,
  process: ScheduledProcess,
  lagMs: () => number,
): AsyncIterable<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  const arrived: Frame[] = [];
  const waiting: { readonly frame: Frame; readonly dueMs: number }[] = [];
  let wake: (() => void) | undefined;
  let over = false;

  function deliverNext(): void {
    const next = waiting.shift();
    if (next === undefined || over) return;
    arrived.push(next.frame);
    // Nothing comes after it, and its reader may never ask.
    if ('end' in next.frame) forget();
    wake?.();
    const [following] = waiting;
    if (following !== undefined) process.post(deliverNext, following.dueMs - process.clock.monotonicMs());
  }
  function send(frame: Frame): void {
    const dueMs = Math.max(process.clock.monotonicMs() + lagMs(), waiting.at(-1)?.dueMs ?? 0);
    waiting.push({ frame, dueMs });
    if (waiting.length === 1) process.post(deliverNext, dueMs - process.clock.monotonicMs());
  }
  async function pump(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await source.next();
        if (done === true) return send({ end: undefined });
        send({ chunk: value });
      }
    } catch (error) {
      send({ end: error as Error });
    }
  }
  function close(): void {
    if (over) return;
    over = true;
    forget();
    void source.return?.();
  }

  const forget = process.onDeath(close);
  void pump();
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        for (;;) {
          const frame = arrived.shift();
          if (frame === undefined) {
            if (over) return { done: true, value: undefined };
            await new Promise<void>((resolve) => (wake = resolve));
            continue;
          }
          if ('chunk' in frame) return { done: false, value: frame.chunk };
          close();
          if (frame.end !== undefined) throw frame.end;
          return { done: true, value: undefined };
        }
      },
      return() {
        close();
        wake?.();
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
}
