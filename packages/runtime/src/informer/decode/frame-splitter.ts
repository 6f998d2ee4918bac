// SPDX-License-Identifier: Apache-2.0
/**
 * Cuts a watch's byte stream into frames: one JSON document per line, arbitrarily chunked.
 *
 * Guarantees: a frame is handed out once, without its newline, and is a view that is valid until the next call; blank lines
 * (keep-alives of a proxy) are skipped; a frame that spans chunks is joined once; what waits for its newline never exceeds the
 * limit. Bytes are not decoded here, so a character that is split between two chunks stays intact.
 */
import { DecodeError } from './decode-error.ts';

export interface FrameSplitter {
  /** Only when `next` has nothing left. */
  feed(chunk: Uint8Array): void;
  /** The next complete frame; undefined when another chunk is needed. Throws DecodeError for a frame over the limit. */
  next(): Uint8Array | undefined;
  /** Ends the stream: returns the bytes after the last newline, undefined if there are none. */
  end(): Uint8Array | undefined;
}

const newline = 0x0a;
const space = 0x20;

export function createFrameSplitter(maxFrameBytes: number): FrameSplitter {
  let chunk: Uint8Array = new Uint8Array();
  let at = 0;
  /** The beginning of a frame whose end was not seen yet. */
  let pieces: Uint8Array[] = [];
  let pendingBytes = 0;

  const take = (piece: Uint8Array): Uint8Array => {
    if (pendingBytes === 0) return piece;
    const frame = Buffer.concat([...pieces, piece]);
    pieces = [];
    pendingBytes = 0;
    return frame;
  };
  const checkSize = (bytes: number): void => {
    if (bytes > maxFrameBytes) {
      throw new DecodeError('object to decode was longer than maximum allowed size', { bytes });
    }
  };

  const keepRest = (): undefined => {
    pieces.push(chunk.subarray(at));
    pendingBytes += chunk.length - at;
    at = chunk.length;
    checkSize(pendingBytes);
  };

  return {
    feed(next) {
      chunk = next;
      at = 0;
    },
    next() {
      while (at < chunk.length) {
        const end = chunk.indexOf(newline, at);
        if (end < 0) return keepRest();
        checkSize(pendingBytes + end - at);
        const frame = take(chunk.subarray(at, end));
        at = end + 1;
        if (!isBlank(frame)) return frame;
      }
      return undefined;
    },
    end() {
      const rest = take(new Uint8Array());
      return isBlank(rest) ? undefined : rest;
    },
  };
}

function isBlank(frame: Uint8Array): boolean {
  for (const byte of frame) {
    if (byte > space) return false;
  }
  return true;
}
