// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP server for metrics, health and profiles: plain HTTP, no authentication, served by leaders and standbys alike.
 *
 * Guarantees: no request ends the process, whatever its target (one that is no URL is a 400) and whatever the handler throws
 * (a 500 and a log line); slow clients are cut off; responses are compressed for clients that accept it; closing does not
 * wait for running requests. Routes may be added while it runs.
 *
 * Not here: what is served. Handlers are passed in; those for profiles are in profiling.ts.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { Logger } from '../log/logger.ts';
import { parseListenAddress, toListenOptions } from './listen-address.ts';

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when the client is gone or the server closes. */
  readonly signal: AbortSignal;
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
}

export interface DiagnosticsServer extends AsyncDisposable {
  readonly port: number;
  /** Replaces a route of the same path. */
  add(route: HttpRoute): void;
  /** Ends at once, open requests included. */
  close(): Promise<void>;
}

const headersTimeoutMs = 10_000;
const requestTimeoutMs = 60_000;
/** Below, compression costs more than it saves. */
const compressFromBytes = 1024;

/** Listens; rejects with the address in the message when that is not possible. */
export async function startDiagnosticsServer(options: DiagnosticsServerOptions): Promise<DiagnosticsServer> {
  const { address, logger } = options;
  const routes = new Map(options.routes.map((route) => [route.path, route]));
  const closing = new AbortController();
  const server = createServer(
    { headersTimeout: headersTimeoutMs, requestTimeout: requestTimeoutMs },
    (request, response) => {
      // Only a failure to report a failure arrives here.
      answer(request, response).catch(() => response.destroy());
    },
  );
  await listen(server, address);
  server.on('error', (error) => logger.error(error, 'HTTP server failed', { address }));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    const leave = (): void => gone.abort(new Error('the request has ended'));
    closing.signal.addEventListener('abort', leave, { once: true });
    response.once('close', leave);
    const { method = 'GET', url: target = '/' } = request;
    try {
      const result = await respond({ method, target, signal: gone.signal });
      if (!gone.signal.aborted) await send(result, { request, response });
    } catch (error) {
      if (gone.signal.aborted) return;
      // Without the query, which may carry what a client should have kept secret.
      logger.error(error, 'HTTP handler failed', { method, path: parseTarget(target)?.pathname });
      if (!response.headersSent) response.writeHead(500, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('internal server error\n');
    } finally {
      closing.signal.removeEventListener('abort', leave);
    }
  }

  function respond({ method, target, signal }: Asked): HttpResponse | Promise<HttpResponse> {
    const url = parseTarget(target);
    if (url === null) return { status: 400, body: '400 Bad Request\n' };
    const route = routeFor(routes, url.pathname);
    if (route === undefined) return { status: 404, body: '404 page not found\n' };
    const isAllowed = route.methods === 'any' || method === 'GET' || method === 'HEAD';
    if (!isAllowed) return { status: 405, headers: { allow: 'GET, HEAD' }, body: 'Method Not Allowed\n' };
    return route.handler({ method, path: url.pathname, query: url.searchParams, signal });
  }

  const close = async (): Promise<void> => {
    closing.abort();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
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
    const where = await toListenOptions(parseListenAddress(address));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(where, () => {
        server.removeListener('error', reject);
        resolve();
      });
    });
  } catch (cause) {
    throw new Error(`cannot listen on ${address}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

interface Asked extends Pick<HttpRequest, 'method' | 'signal'> {
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

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function send(result: HttpResponse, { request, response }: Exchange): Promise<void> {
  let body = typeof result.body === 'string' ? Buffer.from(result.body) : result.body;
  const headers: Record<string, string> = { 'content-type': 'text/plain; charset=utf-8', ...result.headers };
  if (body.length >= compressFromBytes && acceptsGzip(request)) {
    // Loaded for the first large answer: health checks never have one.
    const { gzip } = await import('node:zlib');
    body = await promisify(gzip)(body);
    headers['content-encoding'] = 'gzip';
    headers['vary'] = 'accept-encoding';
  }
  response.writeHead(result.status, { ...headers, 'content-length': body.length });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function acceptsGzip(request: IncomingMessage): boolean {
  const accepted = (request.headers['accept-encoding'] ?? '').split(',');
  return accepted.some((each) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/.test(each));
}
