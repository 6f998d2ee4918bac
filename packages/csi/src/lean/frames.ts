// SPDX-License-Identifier: Apache-2.0
/** Frames of HTTP/2 (RFC 9113, section 4): nine bytes of head, then the payload. */

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  resetStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const flags = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;
export const errorCodes = {
  noError: 0,
  protocolError: 1,
  flowControlError: 3,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
} as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Of a frame among those of its stream, in one direction. */
export type Position = 'last' | 'more';

/** What ends a connection, with the code that the peer is told. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
  readonly code: number;
  constructor(message: string, code: number = errorCodes.protocolError) {
    super(message);
    this.code = code;
  }
}

const headBytes = 9;
/** The default of SETTINGS_MAX_FRAME_SIZE, which we leave as it is. */
export const maxFrameBytes = 16_384;

export function encodeFrame({ type, flags: bits, stream, payload }: Frame): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame[3] = type;
  frame[4] = bits;
  frame.writeUInt32BE(stream, 5);
  payload.copy(frame, headBytes);
  return frame;
}

export interface FrameReader {
  /** The frames that are complete with these bytes. Throws a ProtocolViolation for one that is too long. */
  readonly read: (chunk: Buffer) => Iterable<Frame>;
}

export function createFrameReader(): FrameReader {
  let rest: Buffer = Buffer.alloc(0);
  return {
    *read(chunk) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (rest.length >= headBytes) {
        const length = rest.readUIntBE(0, 3);
        if (length > maxFrameBytes) throw new ProtocolViolation('frame too long', errorCodes.frameSizeError);
        if (rest.length < headBytes + length) return;
        const frame: Frame = {
          type: rest[3] ?? 0,
          flags: rest[4] ?? 0,
          stream: rest.readUInt32BE(5) & 0x7fff_ffff,
          payload: rest.subarray(headBytes, headBytes + length),
        };
        rest = rest.subarray(headBytes + length);
        yield frame;
      }
    },
  };
}

export function positionOf({ flags: bits }: Frame): Position {
  return (bits & flags.endStream) === 0 ? 'more' : 'last';
}

/** The payload without padding and priority. */
export function bodyOf({ type, flags: bits, payload }: Frame): Buffer {
  const isPadded = (bits & flags.padded) !== 0;
  const padding = isPadded ? (payload[0] ?? 0) : 0;
  const start = (isPadded ? 1 : 0) + (type === frameTypes.headers && (bits & flags.priority) !== 0 ? 5 : 0);
  if (start + padding > payload.length) throw new ProtocolViolation('more padding than payload');
  return payload.subarray(start, payload.length - padding);
}
