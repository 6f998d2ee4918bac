// SPDX-License-Identifier: Apache-2.0
/**
 * A connection for node:http from which it reads little at a time.
 *
 * node:http parses all requests of a chunk at once, which for a chunk of 64 KiB is 2,600 of them, and nothing can stop it on the way. Pausing
 * the socket instead would hide that the client is gone. So the chunk is handed over in pieces: one for each turn of the event loop, and
 * none while the gate is closed. The end of a connection is reported at once in both cases, unless the client sent more than is read.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type { Clock } from '../clock/clock.ts';

/** About a request. The shortest is 25 bytes long, so node:http is at most ten requests ahead. */
const pieceBytes = 256;

export interface PacedSocket {
  readonly stream: Duplex;
  /** From now on nothing more is read. */
  readonly close: () => void;
  /** Reads on. With `bytes`, of which a body is known to consist, in larger pieces. */
  readonly open: (bytes?: number) => void;
}

export function pacedSocket(clock: Pick<Clock, 'yieldToLoop'>, socket: Socket): PacedSocket {
  let isOpen = true;
  let isWanted = false;
  let bodyBytes = 0;

  const pull = (): void => {
    const isRead = isOpen && isWanted;
    if (!isRead && socket.readableLength > 0) return;
    // Also with a size of zero: only a read reports the end of the connection.
    const piece = socket.read(Math.min(Math.max(bodyBytes, pieceBytes), socket.readableLength)) as Buffer | null;
    if (piece === null) return;
    isWanted = false;
    bodyBytes = Math.max(bodyBytes - piece.length, 0);
    stream.push(piece);
  };

  const stream = new Duplex({
    read: () => {
      isWanted = true;
      clock.yieldToLoop().then(pull, (error: unknown) => stream.destroy(error as Error));
    },
    write: (chunk: Buffer, _, done) => {
      socket.write(chunk, done);
    },
    final: (done) => {
      socket.end(() => {
        done();
        // As a socket whose answer was the last one: what its client still sends is not read.
        stream.destroy();
      });
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('readable', pull);
  socket.on('end', () => stream.push(null));
  // Also for errors, after which a socket closes. They are those of the client.
  socket.on('error', () => undefined);
  stream.on('error', () => undefined);
  socket.on('close', () => stream.destroy());
  return {
    stream,
    close: () => {
      isOpen = false;
    },
    open: (bytes = 0) => {
      isOpen = true;
      bodyBytes = bytes;
      pull();
    },
  };
}
