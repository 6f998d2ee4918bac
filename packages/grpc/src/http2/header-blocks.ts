// SPDX-License-Identifier: Apache-2.0
/**
 * Joins the header blocks that come in several frames, one block at a time (RFC 9113, section 4.3). Every block is decoded, even
 * when its stream is over: later blocks refer to the table that it changes, and there is one table for the connection.
 */
import { type Header, createHeaderDecoder } from '../hpack/hpack.ts';
import { bodyOf, checkPriority } from './frame-reader.ts';
import { type Frame, type Position, flags, frameTypes, positionOf } from './frames.ts';
import { ProtocolViolation, errorCodes } from './violations.ts';

export interface HeaderBlock {
  readonly stream: number;
  readonly headers: readonly Header[];
  readonly position: Position;
}

export interface HeaderBlocks {
  /** Checks each frame of the connection: nothing may come between the frames of a block. Throws a ProtocolViolation. */
  readonly admit: (frame: Frame) => void;
  /** Takes a HEADERS or CONTINUATION frame. Undefined while more of the block is to come. Throws a ProtocolViolation. */
  readonly take: (frame: Frame) => HeaderBlock | undefined;
}

/** Ours have some hundred bytes. */
const maxBlockBytes = 64 * 1024;
/** A block of empty frames costs the peer nine bytes a frame. */
const maxBlockFrames = 1024;

interface Begun {
  readonly stream: number;
  readonly position: Position;
  readonly parts: Buffer[];
  bytes: number;
}

export function createHeaderBlocks(): HeaderBlocks {
  const decoder = createHeaderDecoder();
  let begun: Begun | undefined;

  function decoded(parts: readonly Buffer[]): readonly Header[] {
    try {
      return decoder.decode(Buffer.concat(parts));
    } catch (error) {
      throw new ProtocolViolation(String(error), errorCodes.compressionError);
    }
  }

  return {
    admit: ({ type, stream }) => {
      if (begun !== undefined && (type !== frameTypes.continuation || stream !== begun.stream)) {
        throw new ProtocolViolation('a header block was interrupted');
      }
    },
    take: (frame) => {
      const isFirst = frame.type === frameTypes.headers;
      if (isFirst) checkPriority(frame);
      const part = isFirst ? bodyOf(frame) : frame.payload;
      if (isFirst) begun = { stream: frame.stream, position: positionOf(frame), parts: [], bytes: 0 };
      if (begun === undefined) throw new ProtocolViolation('a continuation of nothing');
      begun.parts.push(part);
      begun.bytes += part.length;
      if (begun.bytes > maxBlockBytes || begun.parts.length > maxBlockFrames) {
        throw new ProtocolViolation('headers too long', errorCodes.enhanceYourCalm);
      }
      if ((frame.flags & flags.endHeaders) === 0) return undefined;
      const { stream, position, parts } = begun;
      begun = undefined;
      return { stream, position, headers: decoded(parts) };
    },
  };
}
