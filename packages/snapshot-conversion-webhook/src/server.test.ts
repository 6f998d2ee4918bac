// SPDX-License-Identifier: Apache-2.0
/** The limits of the server, and what it logs. */
import { ServerResponse } from 'node:http';
import { connect, Server, Socket } from 'node:net';
import tls, { connect as connectTls, type TLSSocket } from 'node:tls';
import { createTestAuthority, FakeClock, recordingLogger, settle, until } from '@csi-sidecars/runtime/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { startServer } from './server.ts';

afterEach(() => vi.restoreAllMocks());

const authority = createTestAuthority();
const pair = authority.issue({ commonName: 'first', hosts: ['localhost'] });

async function serving() {
  const clock = new FakeClock();
  const log = recordingLogger();
  const server = await startServer({ log, clock }, { port: 0, pair });
  return {
    clock,
    log,
    port: server.port,
    use: (next: typeof pair) => server.use(next),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function secured(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const options = { host: 'localhost', port, ca: authority.ca, ALPNProtocols: ['h2', 'http/1.1'] };
    const socket = connectTls(options, () => resolve(socket));
    socket.on('error', reject);
  });
}

function closing(socket: Socket): { isClosed: boolean } {
  const state = { isClosed: false };
  socket.on('error', () => undefined);
  socket.resume().once('close', () => {
    state.isClosed = true;
  });
  return state;
}

it('given a client that offers HTTP/2 and HTTP/1.1, then HTTP/1.1 is chosen', async () => {
  await using server = await serving();
  const socket = await secured(server.port);
  expect(socket.alpnProtocol).toBe('http/1.1');
  socket.destroy();
});

it('[snapshot-conversion-webhook#11] given a client that speaks no TLS, then that is logged as such and not as an error', async () => {
  await using server = await serving();
  const socket = connect(server.port, 'localhost');
  const state = closing(socket);
  socket.write('GET /readyz HTTP/1.1\r\n\r\n');
  await until(() => state.isClosed);
  await until(() => server.log.lines.length > 0);
  expect(server.log.lines).toEqual([
    { kind: 'info', level: 2, message: 'TLS handshake failed', facts: { reason: expect.stringContaining('ssl') } },
  ]);
});

it.each([
  { state: 'without a handshake', limit: 128, open: async (port: number) => connect(port, '127.0.0.1') },
  { state: 'after their handshake', limit: 64, open: secured },
])(
  '[snapshot-conversion-webhook#11] given one more than $limit connections $state, then the server keeps $limit',
  async ({ limit, open }) => {
    await using server = await serving();
    const sockets = await Promise.all(Array.from({ length: limit + 1 }, () => open(server.port)));
    const states = sockets.map(closing);
    const closed = () => states.filter(({ isClosed }) => isClosed).length;
    await until(() => closed() > 0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(closed()).toBe(1);
    for (const socket of sockets) socket.destroy();
  },
);

it('[snapshot-conversion-webhook#11] given 128 clients that came and went, then the one before them is still served, and the server forgets them', async () => {
  await using server = await serving();
  const patient = connect(server.port, '127.0.0.1');
  await new Promise((resolve) => patient.once('connect', resolve));
  for (const socket of Array.from({ length: 128 }, () => connect(server.port, '127.0.0.1'))) {
    socket.once('connect', () => socket.destroy());
  }
  await until(() => server.log.lines.length === 128);
  for (let turn = 0; turn < 10; turn += 1) await settle();
  (await secured(server.port)).destroy();
  const secure = connectTls({ socket: patient, servername: 'localhost', ca: authority.ca });
  await new Promise((resolve, reject) => secure.once('secureConnect', resolve).once('error', reject));
  const destroy = vi.spyOn(Socket.prototype, 'destroy');
  await server[Symbol.asyncDispose]();
  expect(destroy.mock.contexts.length).toBeLessThan(10);
  secure.destroy();
});

it('[snapshot-conversion-webhook#11] given more than 128 connections, then one of the address with the most is closed, and not the oldest', async () => {
  await using server = await serving();
  const { port } = server;
  const oldest = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  await new Promise((resolve) => oldest.once('connect', resolve));
  const sockets = Array.from({ length: 128 }, () => connect(port, '127.0.0.1'));
  const states = [oldest, ...sockets].map(closing);
  await until(() => states.some(({ isClosed }) => isClosed));
  expect(states[0]).toEqual({ isClosed: false });
  for (const socket of [oldest, ...sockets]) socket.destroy();
});

/** Sends a body, but for its last byte. */
async function unfinished(port: number, bytes: number) {
  const socket = await secured(port);
  const state = closing(socket);
  const received: string[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk.toString()));
  const headers = `Host: a\r\nContent-Type: application/json\r\nContent-Length: ${bytes + 1}`;
  socket.write(`POST /convert HTTP/1.1\r\n${headers}\r\n\r\n`);
  socket.write(Buffer.alloc(bytes, ' '));
  return { socket, state, answer: () => received.join('') };
}

it('[snapshot-conversion-webhook#13] given bodies of 4 MiB and one byte beside the largest, then one client is closed, and the others get their answers', async () => {
  await using server = await serving();
  const mib = 1024 * 1024;
  const clients = await Promise.all([4 * mib - 1, 2 * mib, 2 * mib + 1].map((bytes) => unfinished(server.port, bytes)));
  const isOpen = ({ state }: (typeof clients)[number]) => !state.isClosed;
  await until(() => !clients.every(isOpen));
  const kept = clients.filter(isOpen);
  for (const { socket } of kept) socket.write(' ');
  await until(() => kept.every(({ answer, state }) => state.isClosed || answer() !== ''));
  expect(kept.map(({ answer }) => answer().split('\r\n')[0])).toEqual(Array(2).fill('HTTP/1.1 400 Bad Request'));
  for (const { socket } of kept) socket.destroy();
});

it.each([
  { given: 'begins no handshake', open: async (port: number) => connect(port, 'localhost') },
  {
    given: 'is silent after an answer',
    open: async (port: number) => {
      const socket = await secured(port);
      socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n');
      await new Promise((resolve) => socket.once('data', resolve));
      return socket;
    },
  },
])(
  '[snapshot-conversion-webhook#11] given a client that $given, then it is closed after 10 seconds',
  async ({ open }) => {
    await using server = await serving();
    const timeouts = vi.spyOn(Socket.prototype, 'setTimeout');
    const state = closing(await open(server.port));
    const inServer = () => timeouts.mock.contexts.at(-1) as Socket | undefined;
    await until(() => inServer()?.timeout === 10_000);
    inServer()?.emit('timeout');
    await until(() => state.isClosed);
  },
);

const text = 'text/plain; charset=utf-8';
it.each([
  { request: 'GET /readyz', status: '200 OK', type: text, body: 'ok' },
  { request: 'GET /nothing', status: '404 Not Found', type: text, body: '404 page not found\n' },
  { request: 'POST /convert', status: '200 OK', type: 'application/yaml', body: 'kind: ConversionReview\n' },
])('given $request, then the answer has the type $type', async ({ request, status, type, body }) => {
  await using server = await serving();
  const socket = await secured(server.port);
  const state = closing(socket);
  const received: string[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk.toString()));
  const review = '{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{}}';
  const accepted = 'Content-Type: application/json\r\nAccept: application/yaml\r\nConnection: close';
  const headers = `Host: a\r\n${accepted}\r\nContent-Length: ${review.length}`;
  socket.write(`${request} HTTP/1.1\r\n${headers}\r\n\r\n${review}`);
  await until(() => state.isClosed);
  const [head = '', answer] = received.join('').split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual(expect.arrayContaining([`HTTP/1.1 ${status}`, `content-type: ${type}`]));
  expect(answer).toContain(body);
});

it('given an answer that cannot be sent, then that is logged, and the client is closed', async () => {
  await using server = await serving();
  const error = new Error('no head');
  vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementation(() => {
    throw error;
  });
  const socket = await secured(server.port);
  const state = closing(socket);
  socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n');
  await until(() => state.isClosed);
  expect(server.log.lines).toEqual([{ kind: 'error', error, message: 'request failed', facts: {} }]);
});

it('given a client that goes away within its body, then nothing is logged', async () => {
  await using server = await serving();
  const timeouts = vi.spyOn(Socket.prototype, 'setTimeout');
  const socket = await secured(server.port);
  const headers = 'Host: a\r\nContent-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue';
  socket.write(`POST /convert HTTP/1.1\r\n${headers}\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  await until(() => (timeouts.mock.contexts.at(-1) as Socket).closed);
  for (let turn = 0; turn < 10; turn += 1) await settle();
  expect(server.log.lines).toEqual([]);
});

it('given a port that is taken, then the start is rejected, and nothing is logged', async () => {
  await using server = await serving();
  const { clock, log, port } = server;
  await expect(startServer({ log, clock }, { port, pair })).rejects.toThrow('EADDRINUSE');
  expect(log.lines).toEqual([]);
});

it('given an open connection, when the server ends, then that takes until the connection is closed', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen');
  const server = await serving();
  const state = closing(await secured(server.port));
  let isClosed = false;
  (listen.mock.contexts[0] as Server).once('close', () => {
    isClosed = true;
  });
  await server[Symbol.asyncDispose]();
  expect(isClosed).toBe(true);
  await until(() => state.isClosed);
});

it.each(['first', 'later'])(
  'given a process that allows TLS 1.1, then a server with its %s certificate does not',
  async (certificate) => {
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
    Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1.1', DEFAULT_CIPHERS: 'DEFAULT:@SECLEVEL=0' });
    try {
      await using server = await serving();
      if (certificate === 'later') server.use(pair);
      const socket = connectTls({ host: 'localhost', port: server.port, ca: authority.ca, maxVersion: 'TLSv1.1' });
      const outcome = await new Promise((resolve) => {
        socket.once('secureConnect', () => resolve(socket.getProtocol()));
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      });
      expect(outcome).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
      socket.destroy();
    } finally {
      Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS });
    }
  },
);

it('given a connection that the system does not hand over, then that is logged, and the next client is served', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen');
  await using server = await serving();
  const error = new Error('accept EMFILE');
  (listen.mock.contexts[0] as Server).emit('error', error);
  expect(server.log.lines).toEqual([{ kind: 'error', error, message: 'server failed', facts: {} }]);
  (await secured(server.port)).destroy();
});
