// SPDX-License-Identifier: Apache-2.0
/** Frames of HTTP/2 (RFC 9113, section 4): a head of nine bytes, then the payload. */

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

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Whether the sender says more on the stream after this frame. */
export type Position = 'last' | 'more';

export const headBytes = 9;
/** The default of SETTINGS_MAX_FRAME_SIZE, which we do not change. */
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

export function uint32s(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}

export function positionOf({ flags: bits }: Frame): Position {
  return (bits & flags.endStream) === 0 ? 'more' : 'last';
}
