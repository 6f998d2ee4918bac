// SPDX-License-Identifier: Apache-2.0
/** A real transport against a real server on loopback, in virtual time. For the tests of connections. */
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { parseEndpoint } from '../src/api/connection/endpoint.ts';
import {
  createServerTransport,
  type ServerTransport,
  type ServerTransportOptions,
} from '../src/api/connection/server-transport.ts';
import type { TransportRequest, TransportResponse } from '../src/api/transport.ts';
import { createTestAuthority, type TestAuthority, type TestCertificate } from './certificates.ts';
import { FakeClock } from './fake-clock.ts';
import { startTestServer, type TestExchange, type TestServer, type TestServerOptions } from './test-server.ts';

export interface TransportSetUp extends Partial<TestServerOptions> {
  readonly scheme?: 'https' | 'http';
  readonly tls?: ConnectionOptions;
  readonly options?: Partial<ServerTransportOptions>;
  readonly basePath?: string;
}

export interface Calls {
  readonly get: (path: string, signal?: AbortSignal) => Promise<TransportResponse>;
  readonly post: (path: string, body: string, signal?: AbortSignal) => Promise<TransportResponse>;
}

export interface RunningTransport extends Calls {
  readonly server: TestServer;
  readonly clock: FakeClock;
  readonly transport: ServerTransport;
  /** Every TCP socket that the transport has opened. */
  readonly sockets: readonly Socket[];
  /** Sends new connections to another server, as a load balancer does. */
  readonly moveTo: (other: Pick<TestServer, 'port'>) => void;
}

export interface TransportFixture {
  readonly authority: TestAuthority;
  readonly certificate: TestCertificate;
  readonly setUp: (wanted: TransportSetUp) => Promise<RunningTransport>;
  /** Runs after the test, in reverse order. */
  readonly onEnd: (close: () => Promise<unknown>) => void;
  readonly closeAll: () => Promise<void>;
}

export function createTransportFixture(): TransportFixture {
  const authority = createTestAuthority();
  const certificate = authority.issue({ commonName: 'server', hosts: ['127.0.0.1', 'kubernetes'] });
  const closers: (() => Promise<unknown>)[] = [];
  return {
    authority,
    certificate,
    onEnd: (close) => {
      closers.push(close);
    },
    closeAll: async () => {
      for (const close of closers.splice(0).toReversed()) await close();
    },
    setUp: async ({ scheme = 'https', tls, options, basePath = '', ...wanted }) => {
      const server = await startTestServer({
        answer: ({ response }) => answerJson(response, {}),
        ...(scheme === 'https' && { certificate }),
        ...wanted,
      });
      const clock = new FakeClock();
      const sockets: Socket[] = [];
      let target: Pick<TestServer, 'port'> = server;
      const transport = createServerTransport(
        {
          clock,
          connect: (to) => {
            const socket = connect(to.port === server.port ? { ...to, port: target.port } : to);
            sockets.push(socket);
            return socket;
          },
        },
        {
          endpoint: parseEndpoint(`${scheme}://127.0.0.1:${server.port}${basePath}`, scheme),
          http2: 'allowed',
          health: { readIdleMs: 30_000, pingTimeoutMs: 15_000 },
          tls: { options: () => ({ ca: authority.ca, ...tls }), refresh: () => undefined },
          ...options,
        },
      );
      closers.push(server.close, transport.close);
      const moveTo = (other: Pick<TestServer, 'port'>): void => {
        target = other;
      };
      return { server, clock, transport, sockets, moveTo, ...callsOf(transport) };
    },
  };
}

const never = new AbortController().signal;

export function callsOf({ send }: ServerTransport): Calls {
  const withBody = (request: Omit<TransportRequest, 'headers'>): Promise<TransportResponse> =>
    send({ headers: { accept: 'application/json' }, ...request });
  return {
    get: (path, signal = never) => withBody({ method: 'GET', path, signal }),
    post: (path, body, signal = never) => withBody({ method: 'POST', path, body: Buffer.from(body), signal }),
  };
}

export function answerJson(response: TestExchange['response'], value: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(value));
}

/** Answers `/watch` with one line and stays open; everything else with the number of its connection. */
export function answerWatches({ request, response, connection }: TestExchange): void {
  if (request.url === '/watch') response.write('line\n');
  else answerJson(response, { connection });
}

export async function bodyText({ body }: TransportResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The error with which a promise was rejected. */
export function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => ({ resolved: value }),
    (error: unknown) => error,
  );
}

/** A stream in memory with what only a TCP socket has, and a connection that is kept needs. */
export function asSocket(stream: Duplex): Socket {
  const nothing = (): void => undefined;
  return Object.assign(stream, { setTimeout: nothing, setKeepAlive: nothing, ref: nothing, unref: nothing }) as never;
}

export function openWires(server: TestServer): number {
  return server.wires.filter((wire) => wire.isOpen()).length;
}
