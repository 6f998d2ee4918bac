// SPDX-License-Identifier: Apache-2.0
/**
 * One HTTP/2 connection, shared by requests and watches.
 *
 * open <-> busy (all streams that the peer allows are in use, or the peer may be gone) open or busy -> draining (GOAWAY,
 * retired, or idle) -> closed (last stream ended); any -> closed (lost, cut)
 *
 * A stream that the server certainly did not process (refused, above GOAWAY's last stream id, never sent) fails with
 * `unprocessed`, so that any verb may be repeated. Streams below that id go on until they end.
 *
 * The socket is destroyed here, whatever the state of Node's session: a session that closes gracefully waits for the peer's
 * FIN, without a limit, and a silent peer never sends one.
 * Not here: opening another connection in place of this one, or beside it.
 */
import { type ClientHttp2Stream, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../../clock/clock.ts';
import type { TransportRequest } from '../transport.ts';
import type { Connection } from './connection.ts';
import { authorityOf, type Endpoint } from './endpoint.ts';
import { checkHealth, type HealthOptions } from './health.ts';
import { exchange, type StreamHost } from './http2-exchange.ts';

/** How much a stream, and the connection, may receive ahead of its reader. */
const streamWindowBytes = 1024 * 1024;
const connectionWindowBytes = 16 * 1024 * 1024;
/** Node refuses streams beyond this; buffers of many streams that are not read stay below it. */
const sessionMemoryMb = 256;
/** The number of streams before the peer has sent its limit: Go's initialMaxConcurrentStreams. */
const initialMaxStreams = 100;

export interface Http2Options {
  readonly endpoint: Endpoint;
  readonly health: HealthOptions;
  /** Without a stream for this long the connection closes; undefined: it stays. */
  readonly idleTimeoutMs: number | undefined;
  /** Called once, when nothing is left of the connection. */
  readonly closed: () => void;
}

export function createHttp2Connection(clock: Clock, socket: Socket, options: Http2Options): Connection {
  const { idleTimeoutMs } = options;
  const authority = authorityOf(options.endpoint);
  const session = connect(`https://${authority}`, {
    createConnection: () => socket,
    maxSessionMemory: sessionMemoryMb,
    settings: { enablePush: false, initialWindowSize: streamWindowBytes },
  });
  let lastProcessed = Infinity;
  let isDoubtful = false;
  let streams = 0;
  let maxStreams = initialMaxStreams;
  let idle: Timer | undefined;
  const gone = Promise.withResolvers<void>();

  const cut = (reason?: Error): void => {
    session.destroy(reason);
    socket.destroy();
  };
  /** Node closes a session that is asked to go away. */
  const isClosed = (): boolean => session.closed || session.destroyed;
  const closeIfDone = (): void => {
    if (isClosed() && streams === 0) cut();
  };
  const retire = (): void => {
    session.close();
    closeIfDone();
  };
  const health = checkHealth(clock, options.health, {
    ping: (answered) => {
      // A session that was destroyed throws; only its socket may be left.
      if (session.destroyed) {
        cut();
        return;
      }
      session.ping((error) => {
        if (error === null) answered();
      });
    },
    lost: () => cut(new Error('http2: client connection lost')),
  });

  session.once('connect', () => session.setLocalWindowSize(connectionWindowBytes));
  session.on('remoteSettings', ({ maxConcurrentStreams = Infinity }) => {
    maxStreams = maxConcurrentStreams;
  });
  session.on('goaway', (_code, lastStreamId) => {
    lastProcessed = Math.min(lastProcessed, lastStreamId);
    // After Node has handled it as well.
    queueMicrotask(closeIfDone);
  });
  // Each stream reports the error to its own request.
  session.on('error', () => undefined);
  socket.once('close', () => {
    idle?.cancel();
    health[Symbol.dispose]();
    options.closed();
    gone.resolve();
  });

  const host: StreamHost = {
    session,
    isClosed,
    mayBeProcessed: (stream: ClientHttp2Stream) =>
      stream.id !== undefined && stream.id <= lastProcessed && stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM,
    begun: () => {
      streams += 1;
      idle?.cancel();
    },
    ended: () => {
      streams -= 1;
      closeIfDone();
      if (streams === 0 && idleTimeoutMs !== undefined && !socket.destroyed) idle = clock.timer(idleTimeoutMs, retire);
    },
    heard: () => health.heard(),
    unanswered: (sentMs) => {
      if (health.heardMs() > sentMs) return;
      // If the check is off, nothing shows whether the peer is there: running streams continue, and new ones use another
      // connection.
      if (options.health.readIdleMs === 0) retire();
      isDoubtful = true;
      health.askNow(() => {
        isDoubtful = false;
      });
    },
    exhausted: retire,
    nowMs: () => clock.monotonicMs(),
  };

  return {
    send: (request) => exchange(host, headersFor(request, authority), request),
    availability: () => {
      if (isClosed()) return 'closed';
      // If the peer allows no stream, one stream waits at the peer all the same.
      return isDoubtful || streams >= Math.max(1, maxStreams) ? 'busy' : 'open';
    },
    retire,
    destroy: (reason) => {
      cut(reason);
      return gone.promise;
    },
  };
}

function headersFor({ method, path, headers }: TransportRequest, authority: string): OutgoingHttpHeaders {
  return { ...headers, ':method': method, ':path': path, ':authority': authority, ':scheme': 'https' };
}
