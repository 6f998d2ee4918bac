// SPDX-License-Identifier: Apache-2.0
/**
 * Header blocks out of the frames they come in, one block at a time (RFC 9113, section 4.3). Each is decoded, whatever becomes of
 * its stream: the table that later blocks refer to is one for the connection.
 */
import {
  type Frame,
  type Position,
  ProtocolViolation,
  bodyOf,
  errorCodes,
  flags,
  frameTypes,
  positionOf,
} from './frames.ts';
import { type Header, createHeaderDecoder } from './hpack.ts';

export interface HeaderBlock {
  readonly stream: number;
  readonly headers: readonly Header[];
  readonly position: Position;
}

export interface HeaderBlocks {
  /** Asked of each frame of the connection: nothing may come between the frames of a block. Throws a ProtocolViolation. */
  readonly admit: (frame: Frame) => void;
  /** Of a HEADERS or CONTINUATION frame; undefined while more of the block is to come. Throws a ProtocolViolation. */
  readonly take: (frame: Frame) => HeaderBlock | undefined;
}

/** Of one block. Ours are some hundred bytes. */
const maxBlockBytes = 64 * 1024;

interface Begun {
  readonly stream: number;
  readonly position: Position;
  readonly parts: Buffer[];
  bytes: number;
}

export function createHeaderBlocks(): HeaderBlocks {
  const decoder = createHeaderDecoder();
  let begun: Begun | undefined;
  return {
    admit: ({ type, stream }) => {
      if (begun !== undefined && (type !== frameTypes.continuation || stream !== begun.stream)) {
        throw new ProtocolViolation('a header block was interrupted');
      }
    },
    take: (frame) => {
      const isFirst = frame.type === frameTypes.headers;
      const part = isFirst ? bodyOf(frame) : frame.payload;
      if (isFirst) begun = { stream: frame.stream, position: positionOf(frame), parts: [], bytes: 0 };
      if (begun === undefined) throw new ProtocolViolation('a continuation of nothing');
      begun.parts.push(part);
      begun.bytes += part.length;
      if (begun.bytes > maxBlockBytes) throw new ProtocolViolation('headers too long', errorCodes.enhanceYourCalm);
      if ((frame.flags & flags.endHeaders) === 0) return undefined;
      const { stream, position, parts } = begun;
      begun = undefined;
      return { stream, position, headers: decoder.decode(Buffer.concat(parts)) };
    },
  };
}
