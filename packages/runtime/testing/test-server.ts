// SPDX-License-Identifier: Apache-2.0
/**
 * A real HTTP server on loopback, HTTP/2 or HTTP/1.1 as TLS negotiates (plain HTTP/1.1 without a certificate), behind a
 * wire that can be frozen, cut or closed without the server knowing.
 */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createSecureServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { TestCertificate } from './certificates.ts';

export interface TestServerOptions {
  /** None: plain http. */
  readonly certificate?: TestCertificate;
  /** Default both. */
  readonly protocols?: readonly ('h2' | 'http/1.1')[];
  /** PEM of the authority of client certificates; when set they are required. */
  readonly clientAuthority?: string;
  /** Settings of HTTP/2. Default: Node's, without a limit on streams. */
  readonly maxConcurrentStreams?: number;
  readonly answer: (exchange: TestExchange) => void;
}

export interface TestExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined under HTTP/1.1. */
  readonly stream: ServerHttp2Stream | undefined;
  /** Position of its connection among those accepted. */
  readonly connection: number;
}

export interface Wire {
  /** Stops all data in both directions, without an error on either side. */
  readonly freeze: () => void;
  /** Stops all data of the client, even its end. Data of the server still arrives. */
  readonly deafen: () => void;
  /** TCP reset towards the client. */
  readonly reset: () => void;
  /** FIN towards the client. */
  readonly end: () => void;
  readonly isOpen: () => boolean;
}

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** Every TCP connection accepted so far, oldest first. */
  readonly wires: readonly Wire[];
  readonly sessions: readonly ServerHttp2Session[];
  /** Method and path of every request, in order of arrival. */
  readonly requests: readonly string[];
  readonly close: () => Promise<void>;
}

export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  const sessions: ServerHttp2Session[] = [];
  const requests: string[] = [];
  const wires: Wire[] = [];
  const sockets = new Set<Socket>();
  /** Local port of the upstream socket -> position of the wire. */
  const positions = new Map<number, number>();

  const inner = createInner(options);
  inner.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  inner.on('session', (session: ServerHttp2Session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  inner.on('request', (request: IncomingMessage & { stream?: ServerHttp2Stream }, response: ServerResponse) => {
    requests.push(`${request.method} ${request.url}`);
    const { stream } = request;
    stream?.on('error', () => undefined);
    const connection = positions.get((stream?.session?.socket ?? request.socket).remotePort ?? 0) ?? -1;
    options.answer({ request, response, stream, connection });
  });
  inner.listen(0, '127.0.0.1');
  await once(inner, 'listening');
  const innerPort = (inner.address() as AddressInfo).port;

  const outer = createServer((client) => {
    const upstream = connect(innerPort, '127.0.0.1');
    const position = wires.length;
    upstream.once('connect', () => {
      positions.set(upstream.localPort ?? 0, position);
      client.pipe(upstream);
      upstream.pipe(client);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    wires.push({
      freeze: () => {
        client.unpipe(upstream).pause();
        upstream.unpipe(client).pause();
      },
      deafen: () => {
        client.unpipe(upstream).pause();
      },
      reset: () => client.resetAndDestroy(),
      end: () => {
        upstream.unpipe(client);
        client.end();
      },
      isOpen: () => !client.destroyed,
    });
  });
  outer.listen(0, '127.0.0.1');
  await once(outer, 'listening');

  const close = async (): Promise<void> => {
    for (const session of sessions) session.destroy();
    // A session that closes gracefully would wait for its peer.
    for (const socket of sockets) socket.destroy();
    inner.closeAllConnections?.();
    await Promise.all([new Promise((resolve) => outer.close(resolve)), new Promise((resolve) => inner.close(resolve))]);
  };
  const { port } = outer.address() as AddressInfo;
  return { port, wires, sessions, requests, close, [Symbol.asyncDispose]: close };
}

function createInner({
  certificate,
  protocols = ['h2', 'http/1.1'],
  clientAuthority,
  ...options
}: TestServerOptions): Server {
  if (certificate === undefined) return createHttpServer();
  const tls = {
    ...certificate,
    ...(clientAuthority !== undefined && { ca: clientAuthority, requestCert: true, rejectUnauthorized: true }),
  };
  if (!protocols.includes('h2')) return createHttpsServer(tls);
  // Its requests and responses have the shape of HTTP/1.1's, and are such when that is negotiated.
  const { maxConcurrentStreams } = options;
  const settings = maxConcurrentStreams === undefined ? {} : { settings: { maxConcurrentStreams } };
  return createSecureServer({
    ...tls,
    ...settings,
    allowHTTP1: protocols.includes('http/1.1'),
  }) as unknown as Server;
}
