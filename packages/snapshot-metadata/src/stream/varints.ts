// SPDX-License-Identifier: Apache-2.0
/**
 * Fields of a message of protobuf, read in place: a stream may have millions of blocks, and no object is made for any of them.
 * A value of up to 49 bits is a number, a larger one a bigint, so that every int64 is exact.
 */

/** The bytes are no message. */
export class MalformedMessage extends Error {
  override readonly name = 'MalformedMessage';
}

export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
}

/** An int64. */
export type Int64 = number | bigint;

const quickBytes = 7;
const mostBytes = 10;

export function readVarint(cursor: Cursor): Int64 {
  const { bytes, end } = cursor;
  let value = 0;
  let factor = 1;
  for (let index = 0; index < quickBytes; index += 1) {
    const byte = cursor.at < end ? bytes[cursor.at] : undefined;
    if (byte === undefined) throw new MalformedMessage('a number has no end');
    cursor.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
    factor *= 128;
  }
  return readRest(cursor, value);
}

function readRest(cursor: Cursor, low: number): bigint {
  let value = BigInt(low);
  for (let index = quickBytes; index < mostBytes; index += 1) {
    const byte = cursor.at < cursor.end ? cursor.bytes[cursor.at] : undefined;
    if (byte === undefined) break;
    cursor.at += 1;
    value += BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return BigInt.asIntN(64, value);
  }
  throw new MalformedMessage('a number has no end');
}

/** Lengths and tags. */
export function readUnsigned(cursor: Cursor): number {
  const value = readVarint(cursor);
  if (typeof value !== 'number') throw new MalformedMessage('a length is too large');
  return value;
}

/** Where the bytes of a field of variable length end. */
export function endOfBytes(cursor: Cursor): number {
  const length = readUnsigned(cursor);
  const end = cursor.at + length;
  if (end > cursor.end) throw new MalformedMessage('a field is longer than its message');
  return end;
}

/** Moves behind a field that is not read. */
export function skipField(cursor: Cursor, wireType: number): void {
  switch (wireType) {
    case 0:
      readVarint(cursor);
      return;
    case 1:
      cursor.at += 8;
      break;
    case 2:
      cursor.at = endOfBytes(cursor);
      return;
    case 5:
      cursor.at += 4;
      break;
    default:
      throw new MalformedMessage(`a field has the wire type ${wireType}`);
  }
  if (cursor.at > cursor.end) throw new MalformedMessage('a field is longer than its message');
}
