// SPDX-License-Identifier: Apache-2.0
/**
 * One end of an HTTP/2 connection (RFC 9113), as much of it as unary gRPC on a local socket needs: settings, streams, pings,
 * resets, the end. Both roles; a client's streams are begun here, a server's by the peer.
 *
 * Guarantees: header blocks are decoded in order even of streams that are over; the peer's windows are never exceeded;
 * what violates the protocol ends the connection with GOAWAY and a reason, and never throws into the socket.
 *
 * Why not `node:http2`: see docs/adr/0006. Not here: blocks of several frames (header-blocks.ts), the peer's windows
 * (outgoing.ts), gRPC (unary-client.ts, unary-server.ts), push, priorities.
 */
import type { Socket } from 'node:net';
import {
  type Frame,
  type Position,
  ProtocolViolation,
  bodyOf,
  createFrameReader,
  encodeFrame,
  errorCodes,
  flags,
  frameTypes,
  positionOf,
} from './frames.ts';
import { type HeaderBlock, createHeaderBlocks } from './header-blocks.ts';
import type { Header } from './hpack.ts';
import { createOutgoing, type SendFrame } from './outgoing.ts';

export type Role = 'client' | 'server';

/** What happens on the connection. Nothing of a stream follows its end or its reset. */
export interface SessionEvents {
  /** The peer's settings are known: it speaks HTTP/2. */
  readonly onReady: () => void;
  readonly onHeaders: (stream: number, headers: readonly Header[], position: Position) => void;
  readonly onData: (stream: number, bytes: Buffer, position: Position) => void;
  readonly onReset: (stream: number, code: number) => void;
  /** Once; no other event follows. */
  readonly onClosed: (reason: string) => void;
}

export interface Session {
  /** A client's next stream; undefined when the peer is going away. */
  readonly begin: () => number | undefined;
  readonly sendHeaders: (stream: number, headers: readonly Header[], position: Position) => void;
  /** Not empty. Waits for the peer's windows; headers that follow wait as well. */
  readonly sendData: (stream: number, bytes: Buffer, position: Position) => void;
  /** Ends a stream of which no more is wanted. */
  readonly reset: (stream: number, code: number) => void;
  /** At once; open streams are cut. */
  readonly close: (reason: string) => void;
}

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const settingIds = { enablePush: 2, initialWindow: 4, maxFrame: 5 } as const;
const noPush = Buffer.from([0, settingIds.enablePush, 0, 0, 0, 0]);

export function openSession(socket: Socket, role: Role, events: SessionEvents): Session {
  const frames = createFrameReader();
  const blocks = createHeaderBlocks();
  /** Streams of which the peer has more to say. */
  const open = new Set<number>();
  let prefaceLeft = role === 'server' ? preface : '';
  let ready = false;
  let closed = false;
  let goingAway = false;
  let nextStream = 1;
  let lastPeerStream = 0;
  const send: SendFrame = (type, head, payload) => {
    if (!closed) socket.write(encodeFrame({ type, flags: 0, ...head, payload }));
  };
  const outgoing = createOutgoing(send);

  function end(reason: string): void {
    if (closed) return;
    closed = true;
    socket.destroy();
    open.clear();
    outgoing.clear();
    events.onClosed(reason);
  }

  function receive(chunk: Buffer): void {
    try {
      const bytes = prefaceLeft === '' ? chunk : afterPreface(chunk);
      for (const frame of frames.read(bytes)) {
        if (closed) return;
        take(frame);
      }
    } catch (error) {
      const code = error instanceof ProtocolViolation ? error.code : errorCodes.compressionError;
      send(frameTypes.goAway, { stream: 0 }, uint32s(lastPeerStream, code));
      end(error instanceof Error ? error.message : String(error));
    }
  }

  function afterPreface(chunk: Buffer): Buffer {
    const length = Math.min(chunk.length, prefaceLeft.length);
    if (chunk.subarray(0, length).toString('latin1') !== prefaceLeft.slice(0, length)) {
      throw new ProtocolViolation('not HTTP/2');
    }
    prefaceLeft = prefaceLeft.slice(length);
    return chunk.subarray(length);
  }

  function take(frame: Frame): void {
    if (!ready && frame.type !== frameTypes.settings) throw new ProtocolViolation('settings must come first');
    blocks.admit(frame);
    switch (frame.type) {
      case frameTypes.settings:
        return takeSettings(frame);
      case frameTypes.headers:
        return takeHeaders(frame);
      case frameTypes.continuation:
        return takeBlock(blocks.take(frame));
      case frameTypes.data:
        return takeData(frame);
      case frameTypes.windowUpdate:
        return takeWindowUpdate(frame);
      case frameTypes.ping:
        if (frame.payload.length !== 8)
          throw new ProtocolViolation('ping of a wrong length', errorCodes.frameSizeError);
        if ((frame.flags & flags.ack) === 0) send(frameTypes.ping, { stream: 0, flags: flags.ack }, frame.payload);
        return;
      case frameTypes.resetStream:
        if (frame.payload.length !== 4)
          throw new ProtocolViolation('reset of a wrong length', errorCodes.frameSizeError);
        forget(frame.stream, () => events.onReset(frame.stream, frame.payload.readUInt32BE(0)));
        return;
      case frameTypes.goAway:
        goingAway = true;
        return;
      case frameTypes.pushPromise:
        throw new ProtocolViolation('push was not allowed');
      default:
      // Priorities, and types that are not known: to be ignored.
    }
  }

  function takeSettings({ payload, flags: bits, stream }: Frame): void {
    if (stream !== 0 || payload.length % 6 !== 0)
      throw new ProtocolViolation('bad settings', errorCodes.frameSizeError);
    if ((bits & flags.ack) !== 0) return;
    for (let at = 0; at < payload.length; at += 6) {
      const value = payload.readUInt32BE(at + 2);
      const id = payload.readUInt16BE(at);
      if (id === settingIds.maxFrame) outgoing.setMaxFrame(value);
      if (id === settingIds.initialWindow) outgoing.setInitialWindow(value);
    }
    send(frameTypes.settings, { stream: 0, flags: flags.ack }, Buffer.alloc(0));
    if (!ready) {
      ready = true;
      events.onReady();
    }
    outgoing.flush();
  }

  function takeHeaders(frame: Frame): void {
    const { stream } = frame;
    if (stream === 0) throw new ProtocolViolation('headers without a stream');
    if (role === 'server' && stream > lastPeerStream) {
      if (stream % 2 === 0) throw new ProtocolViolation('not a stream of a client');
      lastPeerStream = stream;
      open.add(stream);
    }
    takeBlock(blocks.take(frame));
  }

  function takeBlock(block: HeaderBlock | undefined): void {
    if (block === undefined || !open.has(block.stream)) return;
    const { stream, headers, position } = block;
    if (position === 'last') open.delete(stream);
    events.onHeaders(stream, headers, position);
  }

  function takeData(frame: Frame): void {
    const { stream, payload } = frame;
    if (stream === 0) throw new ProtocolViolation('data without a stream');
    const position = positionOf(frame);
    const isOpen = open.has(stream);
    if (payload.length > 0) {
      // What came has been taken: both windows stay as they were.
      send(frameTypes.windowUpdate, { stream: 0 }, uint32s(payload.length));
      if (isOpen && position === 'more') send(frameTypes.windowUpdate, { stream }, uint32s(payload.length));
    }
    if (!isOpen) return;
    if (position === 'last') open.delete(stream);
    events.onData(stream, bodyOf(frame), position);
  }

  function takeWindowUpdate({ stream, payload }: Frame): void {
    if (payload.length !== 4) throw new ProtocolViolation('window update of a wrong length', errorCodes.frameSizeError);
    outgoing.widen(stream, payload.readUInt32BE(0) & 0x7fff_ffff);
  }

  function forget(stream: number, then: () => void): void {
    outgoing.forget(stream);
    if (open.delete(stream)) then();
  }

  socket.on('data', receive);
  socket.on('error', (error) => end(error.message));
  socket.on('close', () => end('the connection was closed'));
  if (role === 'client') socket.write(preface, 'latin1');
  send(frameTypes.settings, { stream: 0 }, role === 'client' ? noPush : Buffer.alloc(0));

  return {
    begin: () => {
      if (goingAway || closed) return undefined;
      const stream = nextStream;
      nextStream += 2;
      open.add(stream);
      return stream;
    },
    sendHeaders: outgoing.sendHeaders,
    sendData: outgoing.sendData,
    reset: (stream, code) => {
      if (open.has(stream) || outgoing.has(stream)) {
        send(frameTypes.resetStream, { stream }, uint32s(code));
      }
      forget(stream, () => undefined);
    },
    close: end,
  };
}

function uint32s(...values: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
}
