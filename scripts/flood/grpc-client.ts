// SPDX-License-Identifier: Apache-2.0
/**
 * Hostile clients of a gRPC server with TLS, a process of its own. Arguments: port, attack, milliseconds. A connection that the server
 * closes is opened again, but for the handshakes.
 *
 * `garbage`: random bytes, as plain text and inside of TLS. `half-open`: 1500 connections that begin a handshake and go no further. `unread`: 12
 * connections with a hundred calls each, whose answers are not read.
 */
import { randomBytes } from 'node:crypto';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const [portText = '', attack = '', lifeMs = ''] = process.argv.slice(2);
const port = Number(portText);
const host = '127.0.0.1';
/** A server that closes at once must not turn this into an endless loop. */
const pauseMs = 5;
const chunkBytes = 64 * 1024;
const halfOpen = 1500;
const few = 12;
const callsOfOne = 100;
/** A record of TLS that announces a ClientHello, whose bytes never come. */
const helloBegins = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]);
const watch = {
  ':method': 'POST',
  ':path': '/grpc.health.v1.Health/Watch',
  'content-type': 'application/grpc',
  te: 'trailers',
};

const tls = (): Socket => connectTls({ port, host, rejectUnauthorized: false, ALPNProtocols: ['h2'] });

function again(socket: Socket, hold: () => void): void {
  socket.on('error', () => undefined);
  socket.once('close', () => setTimeout(hold, pauseMs));
}

function garbage(open: () => Socket): void {
  const socket = open();
  again(socket, () => garbage(open));
  const send = (error?: Error | null): void => {
    if (!error && !socket.destroyed) socket.write(randomBytes(chunkBytes), send);
  };
  send();
  socket.resume();
}

function begin(): void {
  const socket = connect({ port, host });
  socket.on('error', () => undefined);
  socket.write(helloBegins);
}

function unread(): void {
  const socket = tls();
  again(socket, unread);
  const session = connectHttp2('https://localhost', { createConnection: () => socket });
  session.on('error', () => undefined);
  for (let call = 0; call < callsOfOne; call += 1) {
    const stream = session.request(watch);
    stream.on('error', () => undefined);
    stream.end(Buffer.alloc(5));
  }
}

const attacks: Readonly<Record<string, () => void>> = {
  garbage: () => {
    for (let held = 0; held < few; held += 1) garbage(held % 2 === 0 ? tls : () => connect({ port, host }));
  },
  'half-open': () => {
    for (let held = 0; held < halfOpen; held += 1) begin();
  },
  unread: () => {
    for (let held = 0; held < few; held += 1) unread();
  },
};
attacks[attack]?.();
setTimeout(() => process.exit(), Number(lifeMs));
