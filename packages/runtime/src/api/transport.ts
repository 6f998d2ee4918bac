// SPDX-License-Identifier: Apache-2.0
/**
 * The transport port: one HTTP exchange with the API server, bytes in, bytes out. Real implementations are
 * HTTP/2 and HTTP/1.1; simulated ones are an in-process API server and a fault-injecting wrapper for either.
 * Retries, credentials, throttling and Kubernetes semantics live above it, in the client.
 */
import { DeadlineError } from '../clock/deadline.ts';

export type Transport = (request: TransportRequest) => Promise<TransportResponse>;

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, beginning with a slash. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Aborting resets the stream, before or during the body. Its listeners are removed when the exchange ends. */
  readonly signal: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Must be consumed or ended (`return()`, as `break` does): ending early resets the stream. Back-pressure reaches
   * the peer while the consumer is not asking. Throws `TransportError` when the connection breaks.
   */
  readonly body: AsyncIterable<Uint8Array>;
}

/** What happened to an exchange that got no (complete) answer. Only `unprocessed` is known not to have been applied. */
export type TransportFailure =
  | 'refused' // ECONNREFUSED
  | 'lookup' // name resolution failed
  | 'tls' // handshake or certificate
  | 'timeout' // connect, handshake or request deadline
  | 'reset' // connection reset, broken pipe, HTTP/2 connection lost
  | 'eof' // closed before the answer was complete
  | 'credentials' // no token could be had: nothing was sent
  | 'unprocessed' // REFUSED_STREAM, or a stream above GOAWAY's last-stream-id: safe to retry for every verb
  | 'aborted'; // the caller's signal

export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly failure: TransportFailure;
  constructor(failure: TransportFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** What an exchange throws when its signal aborts: `timeout` when a deadline did it, else `aborted`. */
export function abortError(signal: AbortSignal): TransportError {
  const cause: unknown = signal.reason;
  if (cause instanceof DeadlineError) return new TransportError('timeout', cause.message, { cause });
  return new TransportError('aborted', 'the request was cancelled', { cause });
}

/** Waits for shared work until this caller's signal aborts. The work continues for the other callers. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(abortError(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
