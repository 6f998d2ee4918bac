// SPDX-License-Identifier: Apache-2.0
/**
 * The hostile client, a process of its own: it holds connections to one port of loopback, keeps 64 KiB of pipelined requests on each, and
 * opens a connection again when the server closes it. Arguments: port, path, connections, milliseconds, `reads` or `deaf`, `http` or `https`.
 * A deaf client reads no answer.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const [port = '', path = '', connections = '', lifeMs = '', ears = '', scheme = ''] = process.argv.slice(2);
const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const chunk = Buffer.from(request.repeat(Math.ceil((64 * 1024) / request.length)));
/** A server that closes at once must not turn this into an endless loop. */
const pauseMs = 5;

function open(): Socket {
  const where = { host: '127.0.0.1', port: Number(port) };
  return scheme === 'https' ? connectTls({ ...where, rejectUnauthorized: false }) : connect(where);
}

function hold(): void {
  const socket = open();
  const send = (error?: Error | null): void => {
    if (!error && !socket.destroyed) socket.write(chunk, send);
  };
  send();
  if (ears === 'deaf') socket.pause();
  else socket.resume();
  socket.on('error', () => undefined);
  socket.once('close', () => setTimeout(hold, pauseMs));
}

for (let held = 0; held < Number(connections); held += 1) hold();
setTimeout(() => process.exit(), Number(lifeMs));
