// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTPS server of webhooks: their paths for the API server, `/readyz` for kubelet. Every pod of the cluster can connect to it. No request
 * ends the process, and none keeps the API server waiting: one request of a connection is served at a time, slow and silent clients are closed
 * (`../diagnostics/http-connections.ts`), and the limits below bound the rest.
 *
 * | A request | The answer |
 * |---|---|
 * | for another path | 404 |
 * | with a body that is too large | 413 |
 * | while too many reviews run | 429, after which the API server asks again a second later |
 * | whose handler takes longer than `reviewMs` | 503 |
 */
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Clock } from '../clock/clock.ts';
import { whenAborted, withDeadline } from '../clock/deadline.ts';
import { createHttpConnections, type HttpExchange } from '../diagnostics/http-connections.ts';
import type { Logger } from '../log/logger.ts';
import type { Pair } from '../tls/certificates.ts';
import { openSockets } from '../tls/open-sockets.ts';
import { textAnswer, tooLarge } from './read-review.ts';
import type { ReviewCounter } from './review-metrics.ts';
import { readyPath, type ReviewAnswer, type ReviewBody, type Webhook } from './webhook.ts';

export interface WebhookLimits {
  /** Default 128. As many again may be in their handshake. Beyond, one of the client with the most is closed. */
  readonly connections: number;
  /**
   * Bodies and answers in memory, beside the largest; default 4 MiB. Twelve clients that send the largest bodies of a validating webhook all the
   * time made at most 230 MiB of a process, whose heap was limited to 128 MiB.
   */
  readonly bytes: number;
  /** Handlers that run at once, where they are asynchronous; default 32. */
  readonly reviews: number;
  /** Default 30 s, the longest time that the API server waits. */
  readonly reviewMs: number;
  /** A client that sends or reads nothing is closed then, a handshake ends then; default 10 s. */
  readonly silenceMs: number;
  /** A connection without a request is closed then; default 2 min. It is longer than the 90 s of the API server, so that a request never meets the end of its connection. */
  readonly idleMs: number;
  /** How long a stop waits for reviews that run; default 10 s. */
  readonly drainMs: number;
}

export const defaultLimits: WebhookLimits = {
  connections: 128,
  bytes: 4 * 1024 * 1024,
  reviews: 32,
  reviewMs: 30_000,
  silenceMs: 10_000,
  idleMs: 120_000,
  drainMs: 10_000,
};

export interface WebhookServer extends AsyncDisposable {
  readonly port: number;
  /** For connections from now on. */
  readonly use: (pair: Pair) => void;
}

export interface WebhookServerDeps {
  readonly log: Logger;
  readonly clock: Clock;
  /** Default: reviews are not counted. */
  readonly countReview?: ReviewCounter | undefined;
}

export interface WebhookServerOptions {
  readonly webhooks: readonly Webhook[];
  /** No host: all addresses. */
  readonly listen: { readonly host?: string; readonly port: number };
  readonly pair: Pair;
  readonly limits: WebhookLimits;
}

/** Rejects if the address cannot be listened on. */
export async function startWebhookServer(
  { log, clock, countReview }: WebhookServerDeps,
  { webhooks, listen: address, pair, limits }: WebhookServerOptions,
): Promise<WebhookServer> {
  const byPath = new Map(webhooks.map((webhook) => [webhook.path, webhook]));
  const running = createRunning(limits);
  /** Requests whose answer is not sent yet. */
  const open = new Set<Promise<void>>();
  let isStopping = false;

  async function serve(exchange: HttpExchange): Promise<void> {
    const [path = ''] = (exchange.request.url ?? '').split('?');
    const webhook = byPath.get(path);
    if (webhook !== undefined) return await counted(webhook, exchange);
    send(exchange, path === readyPath ? ready : notFound);
  }

  async function counted(webhook: Webhook, exchange: HttpExchange): Promise<void> {
    const ended = countReview?.(webhook.path);
    let code: number | undefined;
    try {
      code = await review(webhook, exchange);
    } finally {
      ended?.(code);
    }
  }

  /** Resolves with the status that was sent; undefined: the client is gone. */
  async function review(webhook: Webhook, exchange: HttpExchange): Promise<number | undefined> {
    const { 'content-type': contentType, accept } = exchange.request.headers;
    const body = await exchange.body(webhook.maxBodyBytes(contentType));
    if (body === 'too large') return send(exchange, tooLarge);
    using place = running.enter(body.length);
    if (place === undefined) return send(exchange, busy, { 'retry-after': '1' });
    const answer = await reviewed(webhook, { contentType, accept, body }, exchange);
    return answer && send(exchange, answer);
  }

  /** Undefined: the client is gone. */
  async function reviewed(
    webhook: Webhook,
    body: ReviewBody,
    { response }: HttpExchange,
  ): Promise<ReviewAnswer | undefined> {
    const gone = new AbortController();
    response.once('close', () => gone.abort(new Error('the client is gone')));
    return await withDeadline(clock, { parent: gone.signal, ms: limits.reviewMs }, async (signal) => {
      const answer = await Promise.race([webhook.answer(body, { logger: log, signal }), whenAborted(signal)]);
      if (answer !== undefined) return answer;
      if (gone.signal.aborted) return undefined;
      log.error(signal.reason, 'Webhook takes too long', { path: webhook.path });
      return late;
    });
  }

  function send(exchange: HttpExchange, { status, contentType, body }: ReviewAnswer, headers: Headers = {}): number {
    const last = isStopping ? { connection: 'close' } : {};
    exchange.send({ status, headers: { 'content-type': contentType, ...headers, ...last }, body: Buffer.from(body) });
    return status;
  }

  async function ended(): Promise<void> {
    while (open.size > 0) await Promise.all(open);
  }

  const connections = createHttpConnections({ clock }, limits, async (exchange) => {
    const closed = Promise.withResolvers<void>();
    open.add(closed.promise);
    exchange.response.once('close', () => {
      open.delete(closed.promise);
      closed.resolve();
    });
    try {
      await serve(exchange);
    } catch (error) {
      // A client that is gone rejects as well. Without an answer the connection is closed.
      if (!exchange.request.destroyed) log.error(error, 'request failed');
    }
  });
  const secure = { minVersion: 'TLSv1.2', ALPNProtocols: ['http/1.1'], handshakeTimeout: limits.silenceMs } as const;
  const server = createServer({ ...pair, ...secure }, connections.accept);
  const sockets = openSockets(server, { most: 2 * limits.connections });
  await listen(server, address);
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
      isStopping = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const drained = Promise.withResolvers<void>();
      using _ = clock.timer(limits.drainMs, drained.resolve);
      await Promise.race([ended(), drained.promise]);
      sockets.destroy();
      await closed;
    },
  };
}

type Headers = Readonly<Record<string, string>>;

const ready: ReviewAnswer = { ...textAnswer(200, ''), body: 'ok' };
const notFound = textAnswer(404, '404 page not found');
const busy = textAnswer(429, 'too many reviews');
const late = textAnswer(503, 'the review takes too long');

/** What handlers keep in memory is bounded: by their number, and by the bodies that they work on. One is always served. */
function createRunning({ reviews, bytes }: Pick<WebhookLimits, 'reviews' | 'bytes'>): {
  readonly enter: (length: number) => Disposable | undefined;
} {
  const lengths = { count: 0, bytes: 0 };
  return {
    enter: (length) => {
      if (lengths.count > 0 && (lengths.count >= reviews || lengths.bytes + length > bytes)) return undefined;
      lengths.count += 1;
      lengths.bytes += length;
      return {
        [Symbol.dispose]: () => {
          lengths.count -= 1;
          lengths.bytes -= length;
        },
      };
    },
  };
}

async function listen(server: Server, address: WebhookServerOptions['listen']): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}
