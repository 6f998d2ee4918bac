// SPDX-License-Identifier: Apache-2.0
/** The limits of the server, and what it logs. */
import { connect, Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { createTestAuthority, FakeClock, recordingLogger, until } from '@csi-sidecars/runtime/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { startServer } from './server.ts';

afterEach(() => vi.restoreAllMocks());

const authority = createTestAuthority();
const pair = authority.issue({ commonName: 'first', hosts: ['localhost'] });

async function serving() {
  const clock = new FakeClock();
  const log = recordingLogger();
  const server = await startServer({ log, clock }, { port: 0, pair });
  return { clock, log, port: server.port, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
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

it('[snapshot-conversion-webhook#11] given 129 connections without a handshake, then the server keeps 128', async () => {
  await using server = await serving();
  const sockets = Array.from({ length: 129 }, () => connect(server.port, '127.0.0.1'));
  const states = sockets.map(closing);
  const closed = () => states.filter(({ isClosed }) => isClosed).length;
  await until(() => closed() > 0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(closed()).toBe(1);
  for (const socket of sockets) socket.destroy();
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
