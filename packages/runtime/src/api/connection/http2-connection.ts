// SPDX-License-Identifier: Apache-2.0
/**
 * One HTTP/2 connection, shared by all requests and watches.
 *
 * open -> draining (GOAWAY, or retired) -> closed (last stream ended); open or draining -> closed (lost, cut)
 *
 * A stream that the server certainly did not process (refused, above GOAWAY's last stream id, never sent) fails with
 * `unprocessed`, so that any verb may be repeated. Streams below that id go on until they end.
 * Not here: opening another connection in place of this one.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock/clock.ts';
import { readableBody } from '../readable-body.ts';
import { abortError, TransportError, type TransportRequest, type TransportResponse } from '../transport.ts';
import { type Connection, headersOf } from './connection.ts';
import { authorityOf, type Endpoint } from './endpoint.ts';
import { checkHealth, type HealthCheck, type HealthOptions } from './health.ts';
import { toTransportError } from './socket-error.ts';

/** How much a stream, and the connection, may receive ahead of its reader. */
const streamWindowBytes = 1024 * 1024;
const connectionWindowBytes = 16 * 1024 * 1024;
/** Node refuses streams beyond this; buffers of many streams that nobody reads stay below it. */
const sessionMemoryMb = 256;

export interface Http2Options {
  readonly endpoint: Endpoint;
  readonly health: HealthOptions;
  /** Called once, when nothing is left of the connection. */
  readonly closed: () => void;
}

export function createHttp2Connection(clock: Clock, socket: Socket, options: Http2Options): Connection {
  const authority = authorityOf(options.endpoint);
  const session = connect(`https://${authority}`, {
    createConnection: () => socket,
    maxSessionMemory: sessionMemoryMb,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes },
  });
  const health = checkHealth(clock, options.health, {
    ping: (answered) => {
      session.ping((error) => {
        if (error === null) answered();
      });
    },
    lost: () => session.destroy(new Error('http2: client connection lost')),
  });
  let lastProcessed = Infinity;
  let closed = false;
  session.once('connect', () => session.setLocalWindowSize(connectionWindowBytes));
  session.on('goaway', (_code, lastStreamId) => {
    lastProcessed = Math.min(lastProcessed, lastStreamId);
  });
  // Every stream reports it to its own request.
  session.on('error', () => undefined);
  session.on('close', () => {
    closed = true;
    health[Symbol.dispose]();
    options.closed();
  });
  const mayBeProcessed = (stream: ClientHttp2Stream): boolean =>
    stream.id !== undefined && stream.id <= lastProcessed && stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM;

  return {
    send: (request) => exchange({ session, health, mayBeProcessed }, headersFor(request, authority), request),
    isOpen: () => !session.closed && !session.destroyed && lastProcessed === Infinity,
    retire: () => session.close(),
    destroy: (reason) =>
      new Promise((resolve) => {
        if (closed) resolve();
        session.once('close', resolve);
        session.destroy(reason);
      }),
  };
}

function headersFor({ method, path, headers }: TransportRequest, authority: string): OutgoingHttpHeaders {
  return { ...headers, ':method': method, ':path': path, ':authority': authority, ':scheme': 'https' };
}

interface Wire {
  readonly session: ClientHttp2Session;
  readonly health: HealthCheck;
  readonly mayBeProcessed: (stream: ClientHttp2Stream) => boolean;
}

function exchange(wire: Wire, headers: OutgoingHttpHeaders, request: TransportRequest): Promise<TransportResponse> {
  const { signal, body } = request;
  if (signal.aborted) return Promise.reject(abortError(signal));
  if (wire.session.closed || wire.session.destroyed) {
    return Promise.reject(new TransportError('unprocessed', 'the connection was closed before the request was sent'));
  }
  return new Promise((resolve, reject) => {
    const stream = wire.session.request(headers, { endStream: body === undefined });
    let answered = false;
    const onAbort = (): void => stream.close(constants.NGHTTP2_CANCEL);
    const failure = (error: unknown): TransportError => {
      if (signal.aborted) return abortError(signal);
      const { failure, message } = toTransportError(error, 'reset');
      return new TransportError(wire.mayBeProcessed(stream) ? failure : 'unprocessed', message, { cause: error });
    };
    // A stream that was cut off without an error looks like one that has ended; only its code tells.
    const cutOff = (): TransportError | undefined =>
      stream.rstCode === constants.NGHTTP2_NO_ERROR ? undefined : failure(new TransportError('eof', 'unexpected EOF'));
    const finished = (): void => signal.removeEventListener('abort', onAbort);
    const fail = (error: unknown): void => {
      finished();
      // The connection gave it no number: it takes no more streams, whether it knows that or not.
      if (stream.id === undefined) wire.session.close();
      reject(failure(error));
    };

    signal.addEventListener('abort', onAbort, { once: true });
    // They stay as long as the stream does: taking listeners off costs more than that they are asked in vain.
    stream.on('error', (error) => {
      if (!answered) fail(error);
    });
    stream.on('close', () => {
      if (!answered) fail(new TransportError('eof', 'unexpected EOF'));
    });
    stream.on('response', (received) => {
      answered = true;
      wire.health.heard();
      // The headers are Node's own object, `:status` among them: a copy without it would be the dearest line here.
      resolve({
        status: Number(received[constants.HTTP2_HEADER_STATUS]),
        headers: headersOf(received),
        body: readableBody(stream, {
          arrived: () => wire.health.heard(),
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
