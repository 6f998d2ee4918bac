// SPDX-License-Identifier: Apache-2.0
/**
 * The messages of a gRPC stream, one after the other. Only the bytes of one message are taken out of the stream at a time: what arrives after them
 * stays where the window of HTTP/2 counts it. A caller that does not read costs that window, and not what the peer could send meanwhile.
 */
import type { Readable } from 'node:stream';
import { maxMessageBytes, type Status } from '@csi-sidecars/grpc';

export type ReadMessage =
  | { readonly kind: 'message'; readonly message: Buffer }
  /** The stream has ended, or was closed. */
  | { readonly kind: 'ended'; readonly isWithinMessage: boolean }
  | { readonly kind: 'refused'; readonly status: Status };

export interface MessageReader {
  readonly next: () => Promise<ReadMessage>;
}

const headBytes = 5;

/** Reads the stream from now on; nothing else may. */
export function createMessageReader(stream: Readable): MessageReader {
  let wake = (): void => undefined;
  for (const event of ['readable', 'end', 'close']) stream.on(event, () => wake());

  /** Undefined: the stream has ended before. */
  const take = async (size: number): Promise<Buffer | undefined> => {
    const parts: Buffer[] = [];
    for (let missing = size; missing > 0;) {
      const part = takePart(stream, missing);
      if (part !== undefined) {
        parts.push(part);
        missing -= part.length;
        continue;
      }
      if (stream.readableEnded || stream.destroyed) return parts.length === 0 ? undefined : Buffer.concat(parts);
      await new Promise<void>((resolve) => (wake = resolve));
    }
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  };

  return {
    next: async () => {
      const head = await take(headBytes);
      if (head === undefined) return { kind: 'ended', isWithinMessage: false };
      if (head.length < headBytes) return { kind: 'ended', isWithinMessage: true };
      if (head[0] !== 0) return refused('Unimplemented', 'compressed messages are not supported');
      const length = head.readUInt32BE(1);
      if (length > maxMessageBytes) {
        return refused(
          'ResourceExhausted',
          `grpc: received message larger than max (${length} vs. ${maxMessageBytes})`,
        );
      }
      const message = await take(length);
      if (message === undefined || message.length < length) return { kind: 'ended', isWithinMessage: true };
      // A copy: these bytes are a piece of the 64 KiB that the socket read at once, and would keep all of them.
      return { kind: 'message', message: Buffer.from(message) };
    },
  };
}

/** Never asks for more than the stream reads ahead: Node would let it hold as much from then on. */
function takePart(stream: Readable, most: number): Buffer | undefined {
  const there = Math.min(most, stream.readableLength, stream.readableHighWaterMark);
  // A read at the end of the stream makes it emit `end`.
  return (stream.read(there) as Buffer | null) ?? undefined;
}

function refused(code: Status['code'], detail: string): ReadMessage {
  return { kind: 'refused', status: { code, detail } };
}
