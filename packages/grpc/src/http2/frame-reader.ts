// SPDX-License-Identifier: Apache-2.0
/** Cuts the bytes of a socket into frames, and checks what a single frame can get wrong. */
import { type Frame, flags, frameTypes, headBytes, maxFrameBytes } from './frames.ts';
import { ProtocolViolation, errorCodes } from './violations.ts';

export interface FrameReader {
  /** Yields the frames that these bytes complete. Throws a ProtocolViolation for a frame that is too long. */
  readonly read: (chunk: Buffer) => Iterable<Frame>;
}

/** @param maxBytes the longest payload: what our settings say, which is the default */
export function createFrameReader(maxBytes: number = maxFrameBytes): FrameReader {
  let rest: Buffer = Buffer.alloc(0);
  return {
    *read(chunk) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (rest.length >= headBytes) {
        const length = rest.readUIntBE(0, 3);
        if (length > maxBytes) throw new ProtocolViolation('frame too long', errorCodes.frameSizeError);
        if (rest.length < headBytes + length) return;
        const frame: Frame = {
          type: rest.readUInt8(3),
          flags: rest.readUInt8(4),
          stream: rest.readUInt32BE(5) & 0x7fff_ffff,
          payload: rest.subarray(headBytes, headBytes + length),
        };
        rest = rest.subarray(headBytes + length);
        yield frame;
      }
    },
  };
}

/** Payload lengths that the type fixes. */
const fixedLengths: ReadonlyMap<number, number> = new Map([
  [frameTypes.priority, 5],
  [frameTypes.resetStream, 4],
  [frameTypes.ping, 8],
  [frameTypes.windowUpdate, 4],
]);
const ofConnection: ReadonlySet<number> = new Set([frameTypes.settings, frameTypes.ping, frameTypes.goAway]);
const ofStream: ReadonlySet<number> = new Set([
  frameTypes.data,
  frameTypes.headers,
  frameTypes.priority,
  frameTypes.resetStream,
  frameTypes.continuation,
]);

/** Throws a ProtocolViolation for a frame that is wrong whatever came before it. */
export function checkFrame({ type, stream, payload, flags: bits }: Frame): void {
  if (ofConnection.has(type) && stream !== 0) throw new ProtocolViolation(`frame of type ${type} on a stream`);
  if (ofStream.has(type) && stream === 0) throw new ProtocolViolation(`frame of type ${type} without a stream`);
  const wanted = fixedLengths.get(type);
  const isSettings = type === frameTypes.settings;
  const hasWrongLength =
    (wanted !== undefined && payload.length !== wanted) ||
    (type === frameTypes.goAway && payload.length < 8) ||
    (isSettings && payload.length % 6 !== 0) ||
    (isSettings && (bits & flags.ack) !== 0 && payload.length > 0);
  if (hasWrongLength) {
    throw new ProtocolViolation(`frame of type ${type} with ${payload.length} bytes`, errorCodes.frameSizeError);
  }
}

/** The payload of a DATA or HEADERS frame without its padding and its priority. */
export function bodyOf({ type, flags: bits, payload }: Frame): Buffer {
  const isPadded = (bits & flags.padded) !== 0;
  const hasPriority = type === frameTypes.headers && (bits & flags.priority) !== 0;
  const start = (isPadded ? 1 : 0) + (hasPriority ? 5 : 0);
  if (start > payload.length) throw new ProtocolViolation('frame too short', errorCodes.frameSizeError);
  const padding = isPadded ? payload.readUInt8(0) : 0;
  if (start + padding > payload.length) throw new ProtocolViolation('more padding than payload');
  return payload.subarray(start, payload.length - padding);
}

/** Throws a ProtocolViolation for a stream that depends on itself; dependencies are ignored otherwise (RFC 9113, 5.3). */
export function checkPriority(frame: Frame): void {
  const { type, flags: bits, stream, payload } = frame;
  const isHeaders = type === frameTypes.headers;
  if (isHeaders && (bits & flags.priority) === 0) return;
  const at = isHeaders && (bits & flags.padded) !== 0 ? 1 : 0;
  if (payload.length < at + 5) throw new ProtocolViolation('frame too short', errorCodes.frameSizeError);
  if ((payload.readUInt32BE(at) & 0x7fff_ffff) === stream) throw new ProtocolViolation('a stream depends on itself');
}
