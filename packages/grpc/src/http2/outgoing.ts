// SPDX-License-Identifier: Apache-2.0
/**
 * Sends what one end of a connection says on its streams: header blocks, and data as far as the peer's windows allow (RFC 9113,
 * sections 5.2 and 6.9). Data that does not fit waits, and trailers wait behind it.
 *
 * Guarantees: neither a window of the peer nor its frame size is ever exceeded; a stream is forgotten after its last frame.
 */
import { type Header, encodeHeaders } from '../hpack/hpack.ts';
import { type Position, flags, frameTypes, maxFrameBytes } from './frames.ts';
import { ProtocolViolation, StreamViolation, errorCodes } from './violations.ts';

export interface OutgoingDeps {
  readonly send: SendFrame;
  /** Called after the last frame of a stream was sent. */
  readonly onSaid: (stream: number) => void;
}

export type SendFrame = (
  type: number,
  head: { readonly stream: number; readonly flags?: number },
  payload: Buffer,
) => void;

export interface Outgoing {
  /** A stream begins, of whichever end: from here on the peer may widen its window. */
  readonly begin: (stream: number) => void;
  /** Waits for the data before it, which makes it the trailers. */
  readonly sendHeaders: (stream: number, headers: readonly Header[], position: Position) => void;
  /** The data is not empty, and follows headers. */
  readonly sendData: (stream: number, bytes: Buffer, position: Position) => void;
  /** Adds to the peer's window of a stream; stream 0 is the window of the connection. Throws a violation. */
  readonly widen: (stream: number, bytes: number) => void;
  /** The peer's settings. Data that waits is not sent before `flush`. Both throw a ProtocolViolation. */
  readonly setInitialWindow: (bytes: number) => void;
  readonly setMaxFrame: (bytes: number) => void;
  readonly flush: () => void;
  /** Whether there is more to send on the stream. */
  readonly has: (stream: number) => boolean;
  readonly forget: (stream: number) => void;
  readonly clear: () => void;
}

const defaultWindow = 65_535;
const largestWindow = 2 ** 31 - 1;
const largestFrame = 2 ** 24 - 1;

/** A stream that has begun and has not sent its last frame. */
interface Saying {
  window: number;
  waiting: Buffer;
  position: Position;
  /** What follows the data. */
  trailers: readonly Header[] | undefined;
}

export function createOutgoing({ send, onSaid }: OutgoingDeps): Outgoing {
  const streams = new Map<number, Saying>();
  let window = defaultWindow;
  let initialWindow = defaultWindow;
  let peerFrameBytes = maxFrameBytes;

  function flush(): void {
    for (const [stream, saying] of streams) flushStream(stream, saying);
  }

  function flushStream(stream: number, saying: Saying): void {
    while (saying.waiting.length > 0 && saying.window > 0 && window > 0) sendPart(stream, saying);
    if (saying.waiting.length === 0 && saying.trailers !== undefined) sendBlock(stream, saying.trailers, 'last');
  }

  function sendPart(stream: number, saying: Saying): void {
    const bytes = Math.min(saying.waiting.length, saying.window, window, peerFrameBytes);
    const part = saying.waiting.subarray(0, bytes);
    saying.waiting = saying.waiting.subarray(bytes);
    saying.window -= bytes;
    window -= bytes;
    const isLast = saying.waiting.length === 0 && saying.position === 'last';
    send(frameTypes.data, { stream, flags: isLast ? flags.endStream : 0 }, part);
    if (isLast) end(stream);
  }

  function sendBlock(stream: number, headers: readonly Header[], position: Position): void {
    const block = encodeHeaders(headers);
    for (let at = 0; at === 0 || at < block.length; at += peerFrameBytes) {
      const part = block.subarray(at, at + peerFrameBytes);
      const endHeaders = at + peerFrameBytes >= block.length ? flags.endHeaders : 0;
      const endStream = at === 0 && position === 'last' ? flags.endStream : 0;
      const type = at === 0 ? frameTypes.headers : frameTypes.continuation;
      send(type, { stream, flags: endHeaders | endStream }, part);
    }
    if (position === 'last') end(stream);
  }

  function end(stream: number): void {
    streams.delete(stream);
    onSaid(stream);
  }

  return {
    begin: (stream) => {
      const waiting = Buffer.alloc(0);
      streams.set(stream, { window: initialWindow, waiting, position: 'more', trailers: undefined });
    },
    sendHeaders: (stream, headers, position) => {
      const saying = streams.get(stream);
      if (saying === undefined) return;
      if (saying.waiting.length === 0) sendBlock(stream, headers, position);
      else saying.trailers = headers;
    },
    sendData: (stream, bytes, position) => {
      const saying = streams.get(stream);
      if (saying === undefined) return;
      saying.waiting = Buffer.concat([saying.waiting, bytes]);
      saying.position = position;
      flushStream(stream, saying);
    },
    widen: (stream, bytes) => {
      if (stream === 0) {
        window += bytes;
        if (window > largestWindow) throw new ProtocolViolation('window too large', errorCodes.flowControlError);
        flush();
        return;
      }
      const saying = streams.get(stream);
      if (saying === undefined) return;
      saying.window += bytes;
      if (saying.window > largestWindow) {
        throw new StreamViolation(stream, 'window too large', errorCodes.flowControlError);
      }
      flushStream(stream, saying);
    },
    setInitialWindow: (bytes) => {
      const by = bytes - initialWindow;
      initialWindow = bytes;
      for (const saying of streams.values()) saying.window += by;
      const largest = Math.max(bytes, ...[...streams.values()].map((saying) => saying.window));
      if (largest > largestWindow) throw new ProtocolViolation('window too large', errorCodes.flowControlError);
    },
    setMaxFrame: (bytes) => {
      // With 0 bytes a frame, data would never be sent completely.
      if (bytes < maxFrameBytes || bytes > largestFrame) throw new ProtocolViolation('frame size out of range');
      peerFrameBytes = bytes;
    },
    flush,
    has: (stream) => streams.has(stream),
    forget: (stream) => void streams.delete(stream),
    clear: () => streams.clear(),
  };
}
