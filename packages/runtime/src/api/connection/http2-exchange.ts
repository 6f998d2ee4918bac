// SPDX-License-Identifier: Apache-2.0
/**
 * One request and its answer on one stream of an HTTP/2 connection.
 *
 * An abort ends the exchange at once: neither a stream that waits until the peer allows more of them, nor one whose peer is
 * silent, would confirm its end. A stream that the server certainly did not process fails with `unprocessed`.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, constants, type OutgoingHttpHeaders } from 'node:http2';
import { readableBody } from '../readable-body.ts';
import { abortError, TransportError, type TransportRequest, type TransportResponse } from '../transport.ts';
import { headersOf } from './connection.ts';
import { toTransportError } from './socket-error.ts';

/** What an exchange needs of its connection, and reports to it. */
export interface StreamHost {
  readonly session: ClientHttp2Session;
  readonly isClosed: () => boolean;
  readonly mayBeProcessed: (stream: ClientHttp2Stream) => boolean;
  /** Called once a stream, before anything else about it. */
  readonly begun: () => void;
  /** Called once a stream, when nothing is left of it. */
  readonly ended: () => void;
  /** Something has arrived. */
  readonly heard: () => void;
  /** The deadline of a request has passed before its answer began. */
  readonly unanswered: (sentMs: number) => void;
  /** The connection has no stream ids left. */
  readonly exhausted: () => void;
  readonly nowMs: () => number;
}

export function exchange(
  host: StreamHost,
  headers: OutgoingHttpHeaders,
  request: TransportRequest,
): Promise<TransportResponse> {
  const { signal, body } = request;
  if (signal.aborted) return Promise.reject(abortError(signal));
  if (host.isClosed()) {
    return Promise.reject(new TransportError('unprocessed', 'the connection was closed before the request was sent'));
  }
  return new Promise((resolve, reject) => {
    const stream = host.session.request(headers, { endStream: body === undefined });
    host.begun();
    const sentMs = host.nowMs();
    let answered = false;
    const failure = (error: unknown): TransportError => {
      if (signal.aborted) return abortError(signal);
      const { failure, message } = toTransportError(error, 'reset');
      return new TransportError(host.mayBeProcessed(stream) ? failure : 'unprocessed', message, { cause: error });
    };
    const onAbort = (): void => {
      const error = abortError(signal);
      if (!answered && error.failure === 'timeout') host.unanswered(sentMs);
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy(error);
    };
    // A stream that was cut off without an error looks like one that has ended; only its code differs.
    const cutOff = (): TransportError | undefined =>
      stream.rstCode === constants.NGHTTP2_NO_ERROR ? undefined : failure(new TransportError('eof', 'unexpected EOF'));
    const finished = (): void => signal.removeEventListener('abort', onAbort);
    const fail = (error: unknown): void => {
      finished();
      if (stream.id === undefined && !signal.aborted) host.exhausted();
      reject(failure(error));
    };

    signal.addEventListener('abort', onAbort, { once: true });
    // The listeners stay until the stream ends: to remove them costs more than to call them in vain.
    stream.on('error', (error) => {
      if (!answered) fail(error);
    });
    stream.on('close', () => {
      if (!answered) fail(new TransportError('eof', 'unexpected EOF'));
      host.ended();
    });
    stream.on('response', (received) => {
      answered = true;
      host.heard();
      // The headers are Node's own object, including `:status`. To copy it would cost more than everything else here.
      resolve({
        status: Number(received[constants.HTTP2_HEADER_STATUS]),
        headers: headersOf(received),
        body: readableBody(stream, {
          arrived: host.heard,
          toError: failure,
          truncated: cutOff,
          finished: (how) => {
            finished();
            if (how === 'early') stream.close(constants.NGHTTP2_CANCEL);
          },
        }),
      });
    });
    if (body !== undefined) stream.end(body);
  });
}
