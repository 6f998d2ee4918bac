// SPDX-License-Identifier: Apache-2.0
/**
 * What one end of a connection has to say on its streams: header blocks, and data as far as the peer's windows allow (RFC 9113,
 * sections 5.2 and 6.9). What does not fit waits, and trailers wait behind it.
 *
 * Guarantees: neither window of the peer is ever exceeded, nor its frame size; a stream that has said its last is forgotten.
 */
import { type Position, ProtocolViolation, errorCodes, flags, frameTypes, maxFrameBytes } from './frames.ts';
import { type Header, encodeHeaders } from './hpack.ts';

export type SendFrame = (
  type: number,
  head: { readonly stream: number; readonly flags?: number },
  payload: Buffer,
) => void;

export interface Outgoing {
  /** Waits for the data before it, which makes it the trailers. */
  readonly sendHeaders: (stream: number, headers: readonly Header[], position: Position) => void;
  /** Not empty, and after headers. */
  readonly sendData: (stream: number, bytes: Buffer, position: Position) => void;
  /** The peer has room for more on a stream; on all together where the stream is 0. */
  readonly widen: (stream: number, bytes: number) => void;
  /** The peer's settings. What waits is not sent before `flush`. */
  readonly setInitialWindow: (bytes: number) => void;
  readonly setMaxFrame: (bytes: number) => void;
  readonly flush: () => void;
  /** Something is to be said yet. */
  readonly has: (stream: number) => boolean;
  readonly forget: (stream: number) => void;
  readonly clear: () => void;
}

const defaultWindow = 65_535;
const largestWindow = 2 ** 31 - 1;
const largestFrame = 2 ** 24 - 1;

/** A stream that has begun and not said its last. */
interface Saying {
  window: number;
  waiting: Buffer;
  position: Position;
  /** What follows the data. */
  trailers: readonly Header[] | undefined;
}

/** A stream's window that grows too large could end that stream alone; a peer that cannot count is not worth the difference. */
function widened(window: number, by: number): number {
  if (window + by > largestWindow) throw new ProtocolViolation('window too large', errorCodes.flowControlError);
  return window + by;
}

export function createOutgoing(send: SendFrame): Outgoing {
  const streams = new Map<number, Saying>();
  let window = defaultWindow;
  let initialWindow = defaultWindow;
  let peerFrameBytes = maxFrameBytes;

  function flush(): void {
    for (const [stream, saying] of streams) {
      while (saying.waiting.length > 0 && saying.window > 0 && window > 0) sendPart(stream, saying);
      if (saying.waiting.length === 0 && saying.trailers !== undefined) sendBlock(stream, saying.trailers, 'last');
    }
  }

  function sendPart(stream: number, saying: Saying): void {
    const bytes = Math.min(saying.waiting.length, saying.window, window, peerFrameBytes);
    const part = saying.waiting.subarray(0, bytes);
    saying.waiting = saying.waiting.subarray(bytes);
    saying.window -= bytes;
    window -= bytes;
    const isLast = saying.waiting.length === 0 && saying.position === 'last';
    send(frameTypes.data, { stream, flags: isLast ? flags.endStream : 0 }, part);
    if (isLast) streams.delete(stream);
  }

  function sendBlock(stream: number, headers: readonly Header[], position: Position): void {
    const bits = flags.endHeaders | (position === 'last' ? flags.endStream : 0);
    send(frameTypes.headers, { stream, flags: bits }, encodeHeaders(headers));
    if (position === 'last') streams.delete(stream);
    else streams.set(stream, { window: initialWindow, waiting: Buffer.alloc(0), position, trailers: undefined });
  }

  return {
    sendHeaders: (stream, headers, position) => {
      const saying = streams.get(stream);
      if (saying === undefined || saying.waiting.length === 0) sendBlock(stream, headers, position);
      else saying.trailers = headers;
    },
    sendData: (stream, bytes, position) => {
      const saying = streams.get(stream);
      if (saying === undefined) return;
      saying.waiting = Buffer.concat([saying.waiting, bytes]);
      saying.position = position;
      flush();
    },
    widen: (stream, bytes) => {
      const saying = streams.get(stream);
      if (stream === 0) window = widened(window, bytes);
      else if (saying !== undefined) saying.window = widened(saying.window, bytes);
      flush();
    },
    setInitialWindow: (bytes) => {
      const by = bytes - initialWindow;
      initialWindow = widened(initialWindow, by);
      for (const saying of streams.values()) saying.window = widened(saying.window, by);
    },
    setMaxFrame: (bytes) => {
      // With 0, data would never be through.
      if (bytes < maxFrameBytes || bytes > largestFrame) throw new ProtocolViolation('frame size out of range');
      peerFrameBytes = bytes;
    },
    flush,
    has: (stream) => streams.has(stream),
    forget: (stream) => void streams.delete(stream),
    clear: () => streams.clear(),
  };
}
