// SPDX-License-Identifier: Apache-2.0
/**
 * The Transport to a real API server: opens connections when they are needed, and replaces them when they are lost, told
 * to go away, or no longer match the certificates on disk.
 *
 * Guarantees: at most one HTTP/2 connection takes new requests, however many callers wait for it; a lost one is replaced by
 * the next request. What TLS negotiates decides between HTTP/2 and HTTP/1.1; HTTP/1.1 stays once chosen.
 * Not here: retries (a request whose connection breaks fails), credentials.
 */
import type { ConnectionOptions } from 'node:tls';
import type { Socket } from 'node:net';
import { type Transport, TransportError, type TransportRequest, type TransportResponse } from '../transport.ts';
import { unlessAborted } from '../unless-aborted.ts';
import type { Connection } from './connection.ts';
import { createDial, type Dial, type DialDeps } from './dial.ts';
import { authorityOf, type Endpoint } from './endpoint.ts';
import type { HealthOptions } from './health.ts';
import { createHttp1Connections } from './http1-connections.ts';
import { createHttp2Connection } from './http2-connection.ts';
import { proxyAuthorization } from './tunnel.ts';

export interface ServerTransportOptions {
  readonly endpoint: Endpoint;
  readonly proxy?: URL | undefined;
  readonly http2: 'allowed' | 'disabled';
  readonly health: HealthOptions;
  readonly tls: TlsSource;
}

/** What to verify the server with, and to show it; read again as files rotate. */
export interface TlsSource {
  readonly options: () => ConnectionOptions;
  /**
   * Looks at the files when it is time to. `trust`: new connections use the new authorities, old ones end with their
   * streams. `identity`: the client's own certificate has changed, all connections are cut. Undefined: not yet time.
   */
  readonly refresh: () => Rotation | Promise<Rotation> | undefined;
}

export type Rotation = 'same' | 'trust' | 'identity';

export interface ServerTransport {
  readonly send: Transport;
  /** Cuts what is open and resolves when it is gone. */
  readonly close: () => Promise<void>;
}

export function createServerTransport(deps: DialDeps, options: ServerTransportOptions): ServerTransport {
  const { endpoint, tls } = options;
  const dial = createDial(deps, { endpoint, proxy: options.proxy, tls: tls.options });
  const connections = new Set<Connection>();
  let current: Connection | undefined;
  let connecting: Promise<Connection> | undefined;
  let speaksHttp1 = options.http2 === 'disabled' || endpoint.scheme === 'http';
  let closed = false;
  /** How often the certificates have changed. */
  let rotations = 0;

  /** A connection that was being dialed when the certificates changed is made anew. */
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
    current = connection;
    return connection;
  };
  const open = async (): Promise<Connection> => {
    const dialed = speaksHttp1 ? undefined : await dialCurrent(['h2', 'http/1.1']);
    if (closed) {
      dialed?.socket.destroy();
      throw closedError();
    }
    if (dialed?.protocol === 'h2') {
      return keep((closed) =>
        createHttp2Connection(deps.clock, dialed.socket, { endpoint, health: options.health, closed }),
      );
    }
    speaksHttp1 = true;
    return keep((closed) =>
      createHttp1Connections({ ...addressing(options), first: dialed?.socket, dial: dialHttp1, closed }),
    );
  };
  const connection = (): Connection | Promise<Connection> => {
    if (current?.isOpen() === true) return current;
    connecting ??= open().finally(() => {
      connecting = undefined;
    });
    return connecting;
  };
  const rotate = (change: Rotation): void => {
    if (change === 'same') return;
    rotations += 1;
    for (const connection of connections) {
      if (change === 'trust') connection.retire();
      else void connection.destroy(new Error('client certificate rotated, rejecting connection'));
    }
    current = undefined;
  };

  const addressed = (request: TransportRequest): TransportRequest =>
    endpoint.basePath === '' ? request : { ...request, path: endpoint.basePath + request.path };
  const sendWhenReady = async (
    request: TransportRequest,
    refreshed: ReturnType<TlsSource['refresh']>,
  ): Promise<TransportResponse> => {
    if (refreshed !== undefined) rotate(refreshed instanceof Promise ? await refreshed : refreshed);
    const found = connection();
    const usable = found instanceof Promise ? await unlessAborted(found, request.signal) : found;
    return usable.send(addressed(request));
  };

  return {
    send: (request) => {
      if (closed) return Promise.reject(closedError());
      const refreshed = tls.refresh();
      // As a rule nothing has to be waited for.
      return refreshed === undefined && current?.isOpen() === true
        ? current.send(addressed(request))
        : sendWhenReady(request, refreshed);
    },
    close: async () => {
      closed = true;
      await Promise.all([...connections].map((connection) => connection.destroy(closedError())));
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
