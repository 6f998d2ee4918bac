// SPDX-License-Identifier: Apache-2.0
/**
 * A transport with faults between a client and an API server, in front of a fake or a real one.
 *
 * For each request `decide` returns the fault to apply, or nothing. A fault before the commit never reaches the server; one
 * after it does, and the client does not learn of it. The decision is a plain function, so a test scripts it with `script` and
 * a simulation draws it from its seeded random source.
 */
import { TransportError } from '../../src/api/transport.ts';
import { parseRoute, type Route } from '../fake-api-server/route.ts';
import type { Clock } from '../../src/clock/clock.ts';
import type { Transport, TransportFailure, TransportRequest, TransportResponse } from '../../src/api/transport.ts';

/** Before: the request never reaches the server. After: the server has performed it. */
export type FaultPoint = 'before' | 'after';

export type Fault =
  /** The connection fails without an answer. */
  | { readonly kind: 'break'; readonly point: FaultPoint; readonly failure: TransportFailure }
  /** An answer that the server did not give. */
  | {
      readonly kind: 'status';
      readonly point: FaultPoint;
      readonly code: number;
      /** Reason of the Status body. Without it the body is not a Status, as from a proxy. */
      readonly reason?: string;
      /** The Retry-After header, sent as it is. */
      readonly retryAfter?: string;
    }
  /** No answer until the caller gives up. */
  | { readonly kind: 'hang'; readonly point: FaultPoint }
  /** The request is performed twice, as by a proxy that repeats it; the caller gets the second answer. */
  | { readonly kind: 'twice' }
  /** The request reaches the server this much later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The answer is held back. Of a watch: each frame. */
  | { readonly kind: 'lag'; readonly ms: number }
  /** The body ends after so many chunks, cleanly or by a failure. */
  | { readonly kind: 'cut'; readonly chunks: number; readonly failure?: TransportFailure }
  /** The answer that the same read had the time before; the first time there is none and the read is honest. */
  | { readonly kind: 'stale' };

export interface FaultTarget extends Route {
  readonly request: TransportRequest;
}

export type DecideFault = (target: FaultTarget) => Fault | undefined;

export interface FaultOptions {
  readonly clock: Clock;
  readonly decide: DecideFault;
}

export interface FaultRule {
  readonly when: (target: FaultTarget) => boolean;
  readonly fault: Fault;
  /** The number of matching requests that get the fault. Default 1. */
  readonly times?: number;
}

/** Rules in order; the first that matches and is not used up is taken. The list may grow while in use. */
export function script(rules: readonly FaultRule[]): DecideFault {
  const used = new Map<FaultRule, number>();
  return (target) => {
    const rule = rules.find((each) => (used.get(each) ?? 0) < (each.times ?? 1) && each.when(target));
    if (rule === undefined) return undefined;
    used.set(rule, (used.get(rule) ?? 0) + 1);
    return rule.fault;
  };
}

interface RememberedAnswer {
  readonly response: Omit<TransportResponse, 'body'>;
  readonly bytes: readonly Uint8Array[];
}

export function withFaults(transport: Transport, options: FaultOptions): Transport {
  const { clock, decide } = options;
  // Answers of plain reads, for stale ones.
  const earlier = new Map<string, RememberedAnswer>();

  async function remember(request: TransportRequest, response: TransportResponse): Promise<TransportResponse> {
    const bytes: Uint8Array[] = [];
    for await (const chunk of response.body) bytes.push(chunk);
    const { status, headers } = response;
    if (status === 200) earlier.set(request.path, { response: { status, headers }, bytes });
    return { status, headers, body: chunksOf(bytes) };
  }

  async function honest(target: FaultTarget): Promise<TransportResponse> {
    const response = await transport(target.request);
    const isRead = target.verb === 'get' || target.verb === 'list';
    return isRead ? remember(target.request, response) : response;
  }

  async function afterCommit(target: FaultTarget, point: FaultPoint): Promise<void> {
    if (point === 'after') await discard(await transport(target.request));
  }

  return async (request) => {
    const target: FaultTarget = { ...parseRoute(request.method, request.path), request };
    const fault = decide(target);
    switch (fault?.kind) {
      case undefined:
        return honest(target);
      case 'break':
        await afterCommit(target, fault.point);
        throw new TransportError(fault.failure, `injected fault: ${fault.failure} ${fault.point} the commit`);
      case 'status':
        await afterCommit(target, fault.point);
        return statusAnswer(fault);
      case 'hang':
        await afterCommit(target, fault.point);
        return forever(request.signal);
      case 'twice':
        await discard(await transport(request));
        return honest(target);
      case 'delay':
        await clock.sleep(fault.ms, request.signal).catch(abortedBy(request.signal));
        return honest(target);
      case 'lag': {
        const response = await honest(target);
        return { ...response, body: lagging(response.body, () => clock.sleep(fault.ms, request.signal)) };
      }
      case 'cut': {
        const response = await honest(target);
        return { ...response, body: cut(response.body, fault) };
      }
      case 'stale': {
        const known = earlier.get(request.path);
        return known === undefined ? honest(target) : { ...known.response, body: chunksOf(known.bytes) };
      }
    }
  };
}

function abortedBy(signal: AbortSignal): () => never {
  return () => {
    throw new TransportError('aborted', 'the request was aborted', { cause: signal.reason });
  };
}

function forever(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void =>
      reject(new TransportError('aborted', 'the request was aborted', { cause: signal.reason }));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** The head of an answer shows that the request took effect; its body is not needed. */
async function discard(response: TransportResponse): Promise<void> {
  await response.body[Symbol.asyncIterator]().return?.();
}

function statusAnswer(fault: Extract<Fault, { kind: 'status' }>): TransportResponse {
  const { code, reason, retryAfter } = fault;
  const delay = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  if (reason === undefined) {
    const headers = { 'content-type': 'text/plain', ...delay };
    return { status: code, headers, body: chunksOf([Buffer.from('injected fault')]) };
  }
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'injected fault',
    reason,
    code,
  };
  const headers = { 'content-type': 'application/json', ...delay };
  return { status: code, headers, body: chunksOf([Buffer.from(JSON.stringify(body))]) };
}

async function* chunksOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** Not a generator, so that ending it never waits for a chunk that does not arrive. */
function lagging(body: AsyncIterable<Uint8Array>, wait: () => Promise<void>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = body[Symbol.asyncIterator]();
      return {
        async next() {
          const chunk = await chunks.next();
          if (chunk.done !== true) await wait();
          return chunk;
        },
        return: () => endOf(chunks),
      };
    },
  };
}

function cut(body: AsyncIterable<Uint8Array>, fault: Extract<Fault, { kind: 'cut' }>): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      const chunks = body[Symbol.asyncIterator]();
      let left = fault.chunks;
      return {
        async next() {
          if (left > 0) {
            left -= 1;
            return chunks.next();
          }
          await endOf(chunks);
          if (fault.failure === undefined) return { done: true, value: undefined };
          throw new TransportError(fault.failure, `injected fault: ${fault.failure} in the body`);
        },
        return: () => endOf(chunks),
      };
    },
  };
}

async function endOf(chunks: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  await chunks.return?.();
  return { done: true, value: undefined };
}
