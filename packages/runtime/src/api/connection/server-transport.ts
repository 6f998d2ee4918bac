// SPDX-License-Identifier: Apache-2.0
/**
 * The Transport to a real API server: opens connections when they are needed, and replaces them when they are lost, asked
 * to go away, or no longer match the certificates on disk.
 *
 * Guarantees: all requests share one HTTP/2 connection as long as the server allows that many streams and answers; beyond
 * that further connections are opened, one at a time, and closed once they were idle for 90 s. A lost connection is replaced
 * by the next request. What TLS negotiates decides between HTTP/2 and HTTP/1.1. HTTP/1.1 stays until the last of its
 * connections is closed, or until a later negotiation succeeds: ten minutes after the last one, the next request causes one
 * beside itself. After `close` no socket and no timer is left.
 * Not here: retries (a request whose connection breaks fails), credentials.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Socket } from 'node:net';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  unlessAborted,
} from '../transport.ts';
import type { Availability, Connection } from './connection.ts';
import { createDial, type Dial, type DialDeps } from './dial.ts';
import { authorityOf, type Endpoint } from './endpoint.ts';
import type { HealthOptions } from './health.ts';
import { createHttp1Connections } from './http1-connections.ts';
import { createHttp2Connection } from './http2-connection.ts';
import { proxyAuthorization } from './tunnel.ts';

/** As Go's client; for connections beside the first one only. */
const idleTimeoutMs = 90_000;
/**
 * An open watch keeps a pool of HTTP/1.1 connections alive, and one watch or another is always open. So a server that was replaced
 * by one with HTTP/2 would cost a connection for each watch for ever. Watches end within ten minutes.
 */
const renegotiateAfterMs = 600_000;

export interface ServerTransportOptions {
  readonly endpoint: Endpoint;
  readonly proxy?: URL | undefined;
  readonly http2: 'allowed' | 'disabled';
  readonly health: HealthOptions;
  readonly tls: TlsSource;
}

/** The certificates that verify the server, and that of the client. They are read again when files rotate. */
export interface TlsSource {
  readonly options: () => ConnectionOptions;
  /**
   * Reads the files again when they are due. `trust`: new connections use the new authorities, old ones end with their
   * streams. `identity`: the client's own certificate has changed, all connections are cut. Undefined: not yet time.
   */
  readonly refresh: () => Rotation | Promise<Rotation> | undefined;
}

export type Rotation = 'same' | 'trust' | 'identity';

export interface ServerTransport {
  readonly send: Transport;
  /** A connection of its own on which HTTP/1.1 was negotiated, for a request that upgrades it. The caller ends it; so does `close`. */
  readonly dial: () => Promise<Socket>;
  /** Cuts what is open or being opened, and resolves when it is gone. */
  readonly close: () => Promise<void>;
}

export function createServerTransport(deps: DialDeps, options: ServerTransportOptions): ServerTransport {
  const { endpoint, tls } = options;
  const closing = new AbortController();
  const dial = createDial(deps, { endpoint, proxy: options.proxy, tls: tls.options, signal: closing.signal });
  const connections = new Set<Connection>();
  let connecting: Promise<Connection> | undefined;
  const isHttp1Only = options.http2 === 'disabled' || endpoint.scheme === 'http';
  /** The pool in which HTTP/1.1 was negotiated, and when that was last tried. */
  let fallback: { readonly pool: Connection; triedAtMs: number } | undefined;
  /** How often the certificates have changed. */
  let rotations = 0;

  /** A connection that was being dialed when the certificates changed is dialed again. */
  const dialCurrent: Dial = async (offer) => {
    for (;;) {
      const before = rotations;
      const dialed = await dial(offer);
      if (rotations === before) return dialed;
      dialed.socket.destroy();
    }
  };
  const dialHttp1 = async (): Promise<Socket> => (await dialCurrent(['http/1.1'])).socket;
  const keep = (create: (closed: () => void) => Connection): Connection => {
    const connection = create(() => connections.delete(connection));
    connections.add(connection);
    return connection;
  };
  const open = async (): Promise<Connection> => {
    const dialed = isHttp1Only ? undefined : await dialCurrent(['h2', 'http/1.1']);
    if (closing.signal.aborted) {
      dialed?.socket.destroy();
      throw closedError();
    }
    if (dialed?.socket.destroyed === true) throw new TransportError('eof', 'connection closed before it was used');
    if (dialed?.protocol === 'h2') {
      const isFirst = find('busy') === undefined;
      const http2 = { endpoint, health: options.health, idleTimeoutMs: isFirst ? undefined : idleTimeoutMs };
      return keep((closed) => createHttp2Connection(deps.clock, dialed.socket, { ...http2, closed }));
    }
    const pool = keep((closed) =>
      createHttp1Connections({ ...addressing(options), first: dialed?.socket, dial: dialHttp1, closed }),
    );
    if (dialed !== undefined) fallback = { pool, triedAtMs: deps.clock.monotonicMs() };
    return pool;
  };
  /** The oldest connection in this state, so that those beside the first one become idle. */
  const find = (availability: Availability): Connection | undefined => {
    for (const connection of connections) if (connection.availability() === availability) return connection;
    return undefined;
  };
  const connect = (): Promise<Connection> =>
    (connecting ??= open().finally(() => {
      connecting = undefined;
    }));
  /** Requests use the old pool until the attempt has succeeded: one that fails costs nothing. */
  const renegotiate = (used: Connection): void => {
    const nowMs = deps.clock.monotonicMs();
    if (fallback === undefined || fallback.pool !== used || nowMs - fallback.triedAtMs < renegotiateAfterMs) return;
    fallback.triedAtMs = nowMs;
    connect().then(used.retire, () => undefined);
  };
  const rotate = (change: Rotation): void => {
    if (change === 'same') return;
    rotations += 1;
    for (const connection of connections) {
      if (change === 'trust') connection.retire();
      else void connection.destroy(new Error('client certificate rotated, rejecting connection'));
    }
  };

  const addressed = (request: TransportRequest): TransportRequest =>
    endpoint.basePath === '' ? request : { ...request, path: endpoint.basePath + request.path };
  const sendWhenReady = async (
    request: TransportRequest,
    refreshed: ReturnType<TlsSource['refresh']>,
  ): Promise<TransportResponse> => {
    if (refreshed !== undefined) rotate(refreshed instanceof Promise ? await refreshed : refreshed);
    for (;;) {
      const usable = find('open') ?? (await unlessAborted(connect(), request.signal));
      // Other requests that waited for the same connection may have taken all its streams. Each round serves some, so the loop
      // ends.
      if (usable.availability() !== 'busy') return usable.send(addressed(request));
    }
  };

  return {
    dial: async () => {
      rotate((await tls.refresh()) ?? 'same');
      closing.signal.throwIfAborted();
      const socket = await dialHttp1();
      const end = (): void => {
        socket.destroy();
      };
      closing.signal.addEventListener('abort', end);
      socket.once('close', () => closing.signal.removeEventListener('abort', end));
      if (closing.signal.aborted) end();
      return socket;
    },
    send: (request) => {
      if (closing.signal.aborted) return Promise.reject(closedError());
      const refreshed = tls.refresh();
      // Usually there is nothing to wait for.
      const usable = refreshed === undefined ? find('open') : undefined;
      if (usable === undefined) return sendWhenReady(request, refreshed);
      renegotiate(usable);
      return usable.send(addressed(request));
    },
    close: async () => {
      closing.abort(closedError());
      await Promise.all([...connections].map((connection) => connection.destroy(closedError())));
      await connecting?.catch(() => undefined);
    },
  };
}

function closedError(): TransportError {
  return new TransportError('aborted', 'the transport is closed');
}

/** Plain requests to a proxy name the whole URL; all others find the server at the other end of the socket. */
function addressing({ endpoint, proxy }: ServerTransportOptions): {
  readonly authority: string;
  readonly prefix: string;
  readonly headers: Readonly<Record<string, string>>;
} {
  const authority = authorityOf(endpoint);
  if (endpoint.scheme === 'https' || proxy === undefined) return { authority, prefix: '', headers: {} };
  return { authority, prefix: `http://${authority}`, headers: proxyAuthorization(proxy) };
}
