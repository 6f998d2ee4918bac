// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTPS server: /convert for the API server, /readyz for kubelet. No request ends the process, whatever it is; slow and silent clients
 * are cut off, and a body has a bound.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '@csi-sidecars/runtime';
import type { Pair } from './certificates.ts';
import { answerReview } from './review.ts';

export interface ConversionServer extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  use(pair: Pair): void;
}

/** Upstream's read, write and idle timeouts. */
const limits = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 15_000,
  connectionsCheckingInterval: 1_000,
};
const handshakeTimeoutMs = 10_000;
const writeTimeoutMs = 10_000;
/** A list of thousands of objects is a few MiB. */
export const maxBodyBytes: number = 64 * 1024 * 1024;

/** Listens on all addresses; rejects when that is not possible. */
export async function startServer(
  { log }: { readonly log: Logger },
  { port, pair }: { readonly port: number; readonly pair: Pair },
): Promise<ConversionServer> {
  const server = createServer(
    { ...limits, handshakeTimeout: handshakeTimeoutMs, ...pair, minVersion: 'TLSv1.2' },
    (request, response) => {
      response.setTimeout(limits.requestTimeout + writeTimeoutMs, () => response.destroy());
      serve(request, response).catch((error: unknown) => {
        log.error(error, 'request failed');
        response.destroy();
      });
    },
  );
  const sockets = openSockets(server);
  await listen(server, port);
  server.on('error', (error) => log.error(error, 'server failed'));
  // Most are clients that speak no TLS, or that went away.
  server.on('tlsClientError', (error) => log.info(2, 'TLS handshake failed', { reason: error.message }));
  return {
    port: (server.address() as AddressInfo).port,
    use: (next) => server.setSecureContext({ ...next, minVersion: 'TLSv1.2' }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** The server itself knows a connection only after its handshake, and would wait at its end for a client that goes on with it, or never does. */
function openSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?');
  switch (path) {
    case '/readyz':
      return send(response, { status: 200, contentType: 'text/plain; charset=utf-8', body: 'ok' });
    case '/convert': {
      const body = await bodyOf(request);
      if (body === 'too large') {
        return send(response, {
          status: 413,
          contentType: 'text/plain; charset=utf-8',
          body: 'the body is too large\n',
        });
      }
      const { 'content-type': contentType, accept } = request.headers;
      return send(response, answerReview({ contentType, accept, body }));
    }
    default:
      return send(response, { status: 404, contentType: 'text/plain; charset=utf-8', body: '404 page not found\n' });
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | 'too large'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return 'too large';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function send(response: ServerResponse, { status, contentType, body }: ReturnType<typeof answerReview>): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'content-type': contentType, 'content-length': bytes.length });
  response.end(bytes);
}
