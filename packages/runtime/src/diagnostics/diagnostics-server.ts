// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP server for metrics, health and profiles: plain HTTP, no authentication, served by leaders and standbys alike.
 *
 * Guarantees: no request ends the process, whatever its target (one that is no URL is a 400) and whatever the handler throws
 * (a 500 and a log line); no client keeps others waiting, whatever it sends and does not read; responses are compressed for clients that
 * accept it; closing does not wait for running requests. Routes may be added while it runs.
 *
 * Not here: what is served, which is passed in (profiles are in profiling.ts), and the limits of connections (http-connections.ts).
 */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { promisify } from 'node:util';
import type { Clock } from '../clock/clock.ts';
import type { Logger } from '../log/logger.ts';
import { createHttpConnections, type HttpExchange, type HttpLimits } from './http-connections.ts';
import { parseListenAddress, toListenOptions } from './listen-address.ts';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when the client is gone or the server closes. */
  readonly signal: AbortSignal;
  /** Who asks. Undefined: no server has received the request. */
  readonly client?: HttpClient;
}

export interface HttpClient {
  /** Of the TCP connection. */
  readonly address: string | undefined;
  /** The header `Host`. */
  readonly host: string | undefined;
  /** The header `Origin`, which browsers send. */
  readonly origin: string | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names. Default content type: plain text. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export type HttpHandler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

export interface HttpRoute {
  /** Exact, or a whole subtree when it ends in a slash; the longest one that matches is taken. */
  readonly path: string;
  /** Default `read`: GET and HEAD. */
  readonly methods?: 'read' | 'any';
  readonly handler: HttpHandler;
}

export interface DiagnosticsServerOptions {
  /** See `parseListenAddress`. */
  readonly address: string;
  readonly routes: readonly HttpRoute[];
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface DiagnosticsServer extends AsyncDisposable {
  readonly port: number;
  /** Replaces a route of the same path. */
  add(route: HttpRoute): void;
  /** Ends at once, open requests included. */
  close(): Promise<void>;
}

/** Kubelet and a few scrapers have one connection each. A page of metrics rarely exceeds 1 MiB. */
const limits: HttpLimits = { connections: 64, bytes: 8 * 1024 * 1024, silenceMs: 10_000 };
/** Below, compression costs more than it saves. */
const compressFromBytes = 1024;

/** Listens; rejects with the address in the message when that is not possible. */
export async function startDiagnosticsServer(options: DiagnosticsServerOptions): Promise<DiagnosticsServer> {
  const { address, logger, clock } = options;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const connections = createHttpConnections({ clock }, limits, answer);
  // What a connection that is turned away sends is not read.
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, connections.accept);
  await listen(server, address);
  server.on('error', (error) => logger.error(error, 'HTTP server failed', { address }));

  async function answer(exchange: HttpExchange): Promise<void> {
    const gone = new AbortController();
    // Also when the server closes, which ends all connections.
    exchange.response.once('close', () => gone.abort(new Error('the request has ended')));
    const { method = 'GET', url: target = '/' } = exchange.request;
    const { host, origin } = exchange.request.headers;
    const client = { address: exchange.address, host, origin };
    try {
      const result = await respond({ method, target, signal: gone.signal, client });
      if (!gone.signal.aborted) await send(result, exchange);
    } catch (error) {
      if (gone.signal.aborted) return;
      // Without the query, which may carry what a client should have kept secret.
      logger.error(error, 'HTTP handler failed', { method, path: parseTarget(target)?.pathname });
      await send({ status: 500, body: 'internal server error\n' }, exchange);
    }
  }

  function respond({ method, target, signal, client }: Asked): HttpResponse | Promise<HttpResponse> {
    const url = parseTarget(target);
    if (url === null) return { status: 400, body: '400 Bad Request\n' };
    const route = routeFor(routes, url.pathname);
    if (route === undefined) return { status: 404, body: '404 page not found\n' };
    const isAllowed = route.methods === 'any' || method === 'GET' || method === 'HEAD';
    if (!isAllowed) return { status: 405, headers: { allow: 'GET, HEAD' }, body: 'Method Not Allowed\n' };
    return route.handler({ method, path: url.pathname, query: url.searchParams, signal, client });
  }

  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    connections.close();
    await closed;
  };
  return {
    port: (server.address() as AddressInfo).port,
    add: (route) => void routes.set(route.path, route),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function listen(server: Server, address: string): Promise<void> {
  try {
    server.listen(await toListenOptions(parseListenAddress(address)));
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(`cannot listen on ${address}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

interface Asked extends Pick<HttpRequest, 'method' | 'signal'> {
  readonly client: HttpClient;
  /** As it stands in the request line: a path with its query, or a whole URL. */
  readonly target: string;
}

/** Null for a target that is no URL. Two slashes at its start would name a host, so they are refused as well. */
function parseTarget(target: string): URL | null {
  return /^[/\\]{2}/.test(target) ? null : URL.parse(target, 'http://localhost');
}

function routeFor(routes: ReadonlyMap<string, HttpRoute>, path: string): HttpRoute | undefined {
  const exact = routes.get(path);
  if (exact !== undefined) return exact;
  const subtrees = [...routes.values()].filter((route) => route.path.endsWith('/') && path.startsWith(route.path));
  return subtrees.sort((a, b) => b.path.length - a.path.length)[0];
}

/** Bodies of responses that several requests get, so that they are in memory once, and compressed once. */
const bodies = new WeakMap<HttpResponse, { plain?: Uint8Array; compressed?: Promise<Uint8Array> }>();

async function send(result: HttpResponse, exchange: HttpExchange): Promise<void> {
  const { status, body } = result;
  const shared = bodies.get(result) ?? {};
  bodies.set(result, shared);
  const plain = (shared.plain ??= typeof body === 'string' ? Buffer.from(body) : body);
  const headers = { 'content-type': 'text/plain; charset=utf-8', ...result.headers };
  if (plain.length < compressFromBytes || !acceptsGzip(exchange.request)) {
    return exchange.send({ status, headers, body: plain });
  }
  const compressed = await (shared.compressed ??= compress(plain));
  exchange.send({
    status,
    headers: { ...headers, 'content-encoding': 'gzip', vary: 'accept-encoding' },
    body: compressed,
  });
}

/** Loaded for the first large answer: health checks never have one. */
async function compress(body: Uint8Array): Promise<Uint8Array> {
  const { gzip } = await import('node:zlib');
  return await promisify(gzip)(body);
}

function acceptsGzip(request: IncomingMessage): boolean {
  const accepted = (request.headers['accept-encoding'] ?? '').split(',');
  return accepted.some((each) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/.test(each));
}
