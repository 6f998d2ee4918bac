// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTPS server: /convert for the API server, /readyz for kubelet. Every pod of the cluster can connect to it. No request ends the process,
 * and none keeps the API server waiting: the runtime's HTTP serves one request of a connection at a time and closes slow and silent ones,
 * and the limits below are what the memory limit of the chart allows, of 256 MiB.
 */
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Clock, Logger } from '@csi-sidecars/runtime';
import { createHttpConnections, type HttpExchange, openSockets, type Pair } from '@csi-sidecars/runtime/internal';
import { maxBodyBytes } from './media.ts';
import { type Answer, answerReview, tooLarge } from './review.ts';

export interface ConversionServer extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  use(pair: Pair): void;
}

/** A few are enough for the API servers and kubelet. The bytes are those of bodies and answers, beside the largest. */
const limits = { connections: 64, bytes: 4 * 1024 * 1024, silenceMs: 10_000 };
const handshakeTimeout = 10_000;
/** Those in their handshake included. */
const maxSockets = 128;

/** Listens on all addresses; rejects when that is not possible. */
export async function startServer(
  { log, clock }: { readonly log: Logger; readonly clock: Clock },
  { port, pair }: { readonly port: number; readonly pair: Pair },
): Promise<ConversionServer> {
  const connections = createHttpConnections({ clock }, limits, async (exchange) => {
    try {
      await serve(exchange);
    } catch (error) {
      // A client that is gone rejects as well. Without an answer the connection is closed.
      if (!exchange.request.destroyed) log.error(error, 'request failed');
    }
  });
  const options = { ...pair, minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'], handshakeTimeout } as const;
  const server = createServer(options, connections.accept);
  const sockets = openSockets(server, { most: maxSockets });
  await listen(server, port);
  server.on('error', (error) => log.error(error, 'server failed'));
  // Most are clients that speak no TLS, or that went away. Node leaves the socket open when the time is over.
  server.on('tlsClientError', (error, socket) => {
    log.info(2, 'TLS handshake failed', { reason: error.message });
    socket.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    use: (next) => server.setSecureContext({ ...next, minVersion: 'TLSv1.2' }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      sockets.destroy();
      await closed;
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
}

async function serve(exchange: HttpExchange): Promise<void> {
  const { url = '', headers } = exchange.request;
  const [path = ''] = url.split('?');
  switch (path) {
    case '/readyz':
      return send(exchange, { status: 200, contentType: 'text/plain; charset=utf-8', body: 'ok' });
    case '/convert': {
      const { 'content-type': contentType, accept } = headers;
      const body = await exchange.body(maxBodyBytes(contentType));
      return send(exchange, body === 'too large' ? tooLarge : answerReview({ contentType, accept, body }));
    }
    default:
      return send(exchange, { status: 404, contentType: 'text/plain; charset=utf-8', body: '404 page not found\n' });
  }
}

function send(exchange: HttpExchange, { status, contentType, body }: Answer): void {
  exchange.send({ status, headers: { 'content-type': contentType }, body: Buffer.from(body) });
}
