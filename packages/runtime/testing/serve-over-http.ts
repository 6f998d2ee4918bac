// SPDX-License-Identifier: Apache-2.0
/**
 * A transport served as real HTTP/1.1 on loopback, so that kubectl, curl and programs in other processes can use a
 * simulated API server. Answers are streamed: a watch frame is sent as soon as it exists, and a client that reads slowly
 * slows the watch down.
 *
 * Not here: TLS (kubectl and client libraries accept plain HTTP), authentication (the transport sees the headers).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Transport, TransportRequest } from '../src/api/transport.ts';

export interface ServeOverHttpOptions {
  /** 0 means any free port. */
  readonly port: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
}

export interface HttpEndpoint extends AsyncDisposable {
  /** `http://127.0.0.1:40123` */
  readonly url: string;
  /** Ends all exchanges, including watches, and resolves when the port is free. */
  readonly close: () => Promise<void>;
}

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']);

export async function serveOverHttp(transport: Transport, options: ServeOverHttpOptions): Promise<HttpEndpoint> {
  const stopping = new AbortController();
  const server = createServer((request, response) => {
    void exchange(transport, { request, response, stopping: stopping.signal });
  });
  server.listen(options.port, options.host ?? '127.0.0.1');
  await once(server, 'listening');
  const { address, port } = server.address() as AddressInfo;
  const close = (): Promise<void> => {
    stopping.abort(new Error('the server stops'));
    return closed(server);
  };
  return { url: `http://${address}:${port}`, close, [Symbol.asyncDispose]: close };
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return;
  const ended = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await ended;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly stopping: AbortSignal;
}

async function exchange(transport: Transport, { request, response, stopping }: Exchange): Promise<void> {
  // One child signal per exchange: the client's disconnect and the end of the server both end the watch behind it.
  const gone = new AbortController();
  const abandon = (): void => gone.abort(new Error('the client is gone'));
  response.once('close', abandon);
  stopping.addEventListener('abort', abandon, { once: true });
  try {
    await answer(transport, { request, response, signal: gone.signal });
  } catch {
    // The transport failed or the client disconnected: only closing the connection remains.
    response.destroy();
  } finally {
    stopping.removeEventListener('abort', abandon);
  }
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

async function answer(transport: Transport, { request, response, signal }: Call): Promise<void> {
  const method = request.method ?? 'GET';
  if (!methods.has(method)) {
    response.writeHead(405).end();
    return;
  }
  const body = await Array.fromAsync(request as AsyncIterable<Buffer>);
  const answered = await transport({
    method: method as TransportRequest['method'],
    path: request.url ?? '/',
    headers: headersOf(request),
    signal,
    ...(body.length === 0 ? {} : { body: Buffer.concat(body) }),
  });
  response.writeHead(answered.status, answered.headers);
  response.flushHeaders();
  for await (const chunk of answered.body) {
    if (!response.write(chunk)) await once(response, 'drain', { signal });
  }
  response.end();
}

function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  const entries = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value] as const],
  );
  return Object.fromEntries(entries);
}
