// SPDX-License-Identifier: Apache-2.0
/**
 * Checks the messages of a driver one after the other, and returns the bytes that the caller gets: rows B1 to B5. The messages of the driver and
 * of the caller have the same form, so most are passed on unchanged; one with too many blocks is cut between two of them.
 *
 * A list of blocks that is wrong makes a backup that is wrong, and is found when it is restored. So a driver that contradicts its own
 * declaration ends the stream.
 */
import {
  type Cursor,
  endOfBytes,
  type Int64,
  MalformedMessage,
  readUnsigned,
  readVarint,
  skipField,
} from './varints.ts';

export interface ScanOptions {
  readonly startingOffset: bigint;
  /** Zero: the driver decides. */
  readonly maxResults: number;
  /** Called once for each text and stream. */
  readonly warn: (text: string) => void;
}

export interface Scanned {
  readonly messages: readonly Uint8Array[];
  readonly blocks: number;
}

/** The driver's answer contradicts CSI. The text is for the caller. */
export class DriverViolation extends Error {
  override readonly name = 'DriverViolation';
  readonly row: ViolationRow;
  constructor(row: ViolationRow, message: string, options?: ErrorOptions) {
    super(message, options);
    this.row = row;
  }
}

export type ViolationRow = 'B1' | 'B2' | 'B3' | 'B4' | 'B5';

export interface Scan {
  /** Throws a DriverViolation; then nothing of this message may be passed on. */
  next(message: Uint8Array): Scanned;
}

const maxInt64 = 2n ** 63n - 1n;
const fixedLength = 1;
/** Sums of two numbers below are exact. */
const exact = 2 ** 52;

interface Blocks {
  /** Where the blocks begin that are passed on, one entry for each message; and where the last one ends. */
  readonly cuts: number[];
  end: number;
  count: number;
  kept: number;
}

export function createScan({ startingOffset, maxResults, warn }: ScanOptions): Scan {
  let type: Int64 | undefined;
  let capacity: Int64 | undefined;
  let size: Int64 | undefined;
  let lastEnd: Int64 = 0;
  let isBeginning = true;
  const warned = new Set<string>();
  const warnOnce = (text: string): void => {
    if (warned.has(text)) return;
    warned.add(text);
    warn(text);
  };

  /** Reads a block and returns where it ends in the volume. */
  const readBlock = (cursor: Cursor): Int64 => {
    let offset: Int64 = 0;
    let length: Int64 = 0;
    while (cursor.at < cursor.end) {
      const tag = readUnsigned(cursor);
      if (tag === 8) offset = readVarint(cursor);
      else if (tag === 16) length = readVarint(cursor);
      else skipField(cursor, tag % 8);
    }
    const end = sum(offset, length);
    if (length <= 0 || offset < 0 || end > maxInt64) {
      throw new DriverViolation('B1', `CSI driver sent an invalid block: offset ${offset}, size ${length}`);
    }
    if (offset < lastEnd) {
      throw new DriverViolation('B2', `CSI driver sent overlapping or unordered blocks: ${lastEnd} before ${offset}`);
    }
    lastEnd = end;
    size ??= length;
    if (type === fixedLength && !isSame(length, size))
      warnOnce('CSI driver sent blocks of different sizes as FIXED_LENGTH');
    if (capacity !== undefined && end > capacity) warnOnce('CSI driver sent a block beyond the capacity of the volume');
    return end;
  };

  const agree = (message: Uint8Array): void => {
    const fields = readFields(message);
    type ??= fields.type;
    capacity ??= fields.capacity;
    if (!isSame(type, fields.type)) throw changed('B3', 'block_metadata_type');
    if (!isSame(capacity, fields.capacity)) throw changed('B4', 'volume_capacity_bytes');
    if (type === 0) warnOnce('CSI driver sent blocks of the type UNKNOWN');
  };

  const readBlocks = (message: Uint8Array): Blocks => {
    const cursor: Cursor = { bytes: message, at: 0, end: message.length };
    const blocks: Blocks = { cuts: [], end: 0, count: 0, kept: 0 };
    while (cursor.at < cursor.end) {
      const start = cursor.at;
      const tag = readUnsigned(cursor);
      if (tag !== blockTag) {
        skipField(cursor, tag % 8);
        continue;
      }
      const end = endOfBytes(cursor);
      const reached = readBlock({ bytes: message, at: cursor.at, end });
      cursor.at = end;
      blocks.count += 1;
      if (isBeginning && reached <= startingOffset) continue;
      isBeginning = false;
      if (blocks.kept === 0 || (maxResults > 0 && blocks.kept % maxResults === 0)) blocks.cuts.push(start);
      blocks.kept += 1;
      blocks.end = end;
    }
    return blocks;
  };

  return {
    next(message) {
      try {
        agree(message);
        const blocks = readBlocks(message);
        return { messages: passedOn(message, blocks), blocks: blocks.kept };
      } catch (error) {
        if (!(error instanceof MalformedMessage)) throw error;
        throw new DriverViolation('B5', `CSI driver sent a message that cannot be read: ${error.message}`, {
          cause: error,
        });
      }
    },
  };
}

const blockTag = 26;

function sum(a: Int64, b: Int64): Int64 {
  if (typeof a === 'number' && typeof b === 'number' && a < exact && b < exact) return a + b;
  return BigInt(a) + BigInt(b);
}

/** One may be a number and the other a bigint, if a peer encodes a small value in many bytes. */
function isSame(a: Int64, b: Int64): boolean {
  return a <= b && a >= b;
}

function changed(row: ViolationRow, field: string): DriverViolation {
  return new DriverViolation(row, `CSI driver changed ${field} within a stream`);
}

interface Fields {
  readonly type: Int64;
  readonly capacity: Int64;
}

/** Before the blocks, which are compared with them and may stand in front of them. The last of several counts. */
function readFields(message: Uint8Array): Fields {
  const cursor: Cursor = { bytes: message, at: 0, end: message.length };
  let type: Int64 = 0;
  let capacity: Int64 = 0;
  while (cursor.at < cursor.end) {
    const tag = readUnsigned(cursor);
    if (tag === 8) type = readVarint(cursor);
    else if (tag === 16) capacity = readVarint(cursor);
    else skipField(cursor, tag % 8);
  }
  return { type, capacity };
}

function passedOn(message: Uint8Array, { cuts, end, count, kept }: Blocks): readonly Uint8Array[] {
  if (kept === count && cuts.length <= 1) return [message];
  const head = withoutBlocks(message);
  if (cuts.length === 0) return [head];
  return cuts.map((from, index) => Buffer.concat([head, message.subarray(from, cuts[index + 1] ?? end)]));
}

/** Every other field, unknown ones too. What stands between two blocks is passed on twice, which changes nothing. */
function withoutBlocks(message: Uint8Array): Uint8Array {
  const cursor: Cursor = { bytes: message, at: 0, end: message.length };
  const parts: Uint8Array[] = [];
  while (cursor.at < cursor.end) {
    const start = cursor.at;
    const tag = readUnsigned(cursor);
    skipField(cursor, tag % 8);
    if (tag !== blockTag) parts.push(message.subarray(start, cursor.at));
  }
  return Buffer.concat(parts);
}
