// SPDX-License-Identifier: Apache-2.0
/** The frame around a message of gRPC: a flag, the length, the message. */
import type { Status } from './status.ts';

const headBytes = 5;
/** The default of every gRPC implementation. */
export const maxMessageBytes: number = 4 * 1024 * 1024;

export function frameMessage(message: Uint8Array): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Collects the one message of a stream, in time and memory that grow with its length, however small the parts are. */
export interface MessageReader {
  /** Returns a status when the message is refused and no more is to be read. */
  readonly read: (bytes: Buffer) => Status | undefined;
  /** Undefined while the message is not complete. */
  readonly message: () => Buffer | undefined;
}

export function createMessageReader(): MessageReader {
  let received: Buffer = Buffer.alloc(0);
  let size = 0;
  const length = (): number => (size < headBytes ? Infinity : received.readUInt32BE(1));
  function append(bytes: Buffer): void {
    if (size + bytes.length > received.length) {
      const grown = Buffer.alloc(Math.max(size + bytes.length, size * 2));
      received.copy(grown, 0, 0, size);
      received = grown;
    }
    bytes.copy(received, size);
    size += bytes.length;
  }
  return {
    read: (bytes) => {
      append(bytes);
      if (size < headBytes) return undefined;
      if (received[0] !== 0) return { code: 'Unimplemented', detail: 'compressed messages are not supported' };
      if (length() > maxMessageBytes) {
        const detail = `received message larger than max (${length()} vs. ${maxMessageBytes})`;
        return { code: 'ResourceExhausted', detail };
      }
      const isOne = size <= headBytes + length();
      return isOne ? undefined : { code: 'Internal', detail: 'more than one message of a unary call' };
    },
    message: () => (size === headBytes + length() ? received.subarray(headBytes, size) : undefined),
  };
}
