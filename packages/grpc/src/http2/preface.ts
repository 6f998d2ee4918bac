// SPDX-License-Identifier: Apache-2.0
/** The bytes with which a client begins a connection (RFC 9113, section 3.4). */
import type { Socket } from 'node:net';
import type { Role } from './streams.ts';
import { ProtocolViolation } from './violations.ts';

export const prefaceText = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export interface Preface {
  /** Sends it, as a client. */
  readonly send: (socket: Socket) => void;
  /** Takes it off the first bytes of the connection, as a server. Throws a ProtocolViolation for other bytes. */
  readonly strip: (chunk: Buffer) => Buffer;
}

export function createPreface(role: Role): Preface {
  let left = role === 'server' ? prefaceText : '';
  return {
    send: (socket) => {
      if (role === 'client') socket.write(prefaceText, 'latin1');
    },
    strip: (chunk) => {
      if (left === '') return chunk;
      const length = Math.min(chunk.length, left.length);
      if (chunk.subarray(0, length).toString('latin1') !== left.slice(0, length)) {
        throw new ProtocolViolation('not HTTP/2');
      }
      left = left.slice(length);
      return chunk.subarray(length);
    },
  };
}
