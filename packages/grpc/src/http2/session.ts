// SPDX-License-Identifier: Apache-2.0
/**
 * One end of an HTTP/2 connection (RFC 9113), as much of it as unary gRPC on a local socket needs: settings, streams, pings,
 * resets, the end. It plays both roles; a client's streams begin here, a server's at the peer.
 *
 * Guarantees: header blocks are decoded in order, even those of streams that are over; the peer's windows and its limit of
 * streams are never exceeded; a peer cannot make this end keep more than a bounded number of streams and unread answers.
 * A peer that violates the protocol loses its stream or its connection, with the code that RFC 9113 names; nothing is thrown
 * into the socket's listeners.
 *
 * Why not `node:http2`: docs/adr/0006. Not here: blocks of several frames (header-blocks.ts), well-formed headers (fields.ts),
 * the states of streams (streams.ts), the peer's windows (outgoing.ts), our windows (receive-window.ts), gRPC (../client, ../server).
 */
import type { Socket } from 'node:net';
import { contentLengthOf, malformation } from './fields.ts';
import { bodyOf, checkFrame, checkPriority, createFrameReader } from './frame-reader.ts';
import { createFrameSender } from './frame-sender.ts';
import { type Frame, encodeFrame, flags, frameTypes, positionOf, uint32s } from './frames.ts';
import { type HeaderBlock, createHeaderBlocks } from './header-blocks.ts';
import { type SendFrame, createOutgoing } from './outgoing.ts';
import { createPreface } from './preface.ts';
import { isDue } from './receive-window.ts';
import type { Session, SessionEvents } from './session-port.ts';
import { maxConcurrentStreams, ownSettings, readSettings } from './settings.ts';
import { type Role, type Stream, createStreams } from './streams.ts';
import { ProtocolViolation, StreamViolation, errorCodes } from './violations.ts';

export function openSession(socket: Socket, role: Role, events: SessionEvents): Session {
  const frames = createFrameReader();
  const blocks = createHeaderBlocks();
  const streams = createStreams(role);
  const preface = createPreface(role);
  const write = createFrameSender(socket);
  let phase: 'settling' | 'ready' | 'goingAway' | 'closed' = 'settling';
  let peerMaxStreams = Infinity;
  /** Bytes of the connection's window that the peer has used and has not got back. */
  let used = 0;
  const isClosed = (): boolean => phase === 'closed';
  const send: SendFrame = (type, head, payload) => {
    if (!isClosed()) write(type, head, payload);
  };
  const outgoing = createOutgoing({ send, onSaid: streams.weSaid });

  function end(reason: string): void {
    if (isClosed()) return;
    phase = 'closed';
    socket.destroy();
    streams.clear();
    outgoing.clear();
    events.onClosed(reason);
  }

  /** Runs work that a violation may end: of one stream, or of the connection. */
  function guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof StreamViolation) guarded(() => abandon(error));
      else violated(error);
    }
  }
  function violated(error: unknown): void {
    const code = error instanceof ProtocolViolation ? error.code : errorCodes.internalError;
    if (!isClosed()) socket.write(goAwayFrame(streams.lastOfPeer(), code));
    end(error instanceof Error ? error.message : String(error));
  }
  function abandon({ stream, code, message }: StreamViolation): void {
    const isKnown = streams.get(stream) !== undefined;
    cut(stream, code);
    if (isKnown) events.onReset(stream, { code, reason: message });
  }
  function cut(stream: number, code: number): void {
    outgoing.forget(stream);
    streams.end(stream, 'cut');
    send(frameTypes.resetStream, { stream }, uint32s(code));
  }

  function receive(chunk: Buffer): void {
    guarded(() => {
      for (const frame of frames.read(preface.strip(chunk))) {
        if (isClosed()) return;
        guarded(() => take(frame));
      }
    });
  }

  function take(frame: Frame): void {
    if (phase === 'settling' && (frame.type !== frameTypes.settings || (frame.flags & flags.ack) !== 0)) {
      throw new ProtocolViolation('settings must come first');
    }
    blocks.admit(frame);
    checkFrame(frame);
    switch (frame.type) {
      case frameTypes.settings:
        return takeSettings(frame);
      case frameTypes.headers:
      case frameTypes.continuation:
        return takeBlock(blocks.take(frame));
      case frameTypes.data:
        return takeData(frame);
      case frameTypes.windowUpdate:
        return takeWindowUpdate(frame);
      case frameTypes.ping:
        if ((frame.flags & flags.ack) === 0) send(frameTypes.ping, { stream: 0, flags: flags.ack }, frame.payload);
        return;
      case frameTypes.resetStream:
        return takeReset(frame);
      case frameTypes.goAway:
        return takeGoAway(frame);
      case frameTypes.priority:
        return checkPriority(frame);
      case frameTypes.pushPromise:
        throw new ProtocolViolation('push was not allowed');
      default:
      // Frames of unknown types are to be ignored.
    }
  }

  function takeSettings({ payload, flags: bits }: Frame): void {
    if ((bits & flags.ack) !== 0) return;
    const settings = readSettings(payload, role);
    if (settings.maxFrame !== undefined) outgoing.setMaxFrame(settings.maxFrame);
    if (settings.initialWindow !== undefined) outgoing.setInitialWindow(settings.initialWindow);
    peerMaxStreams = settings.maxConcurrentStreams ?? peerMaxStreams;
    send(frameTypes.settings, { stream: 0, flags: flags.ack }, Buffer.alloc(0));
    if (phase === 'settling') {
      phase = 'ready';
      events.onReady();
    }
    outgoing.flush();
    offerCapacity();
  }

  function takeBlock(block: HeaderBlock | undefined): void {
    if (block === undefined) return;
    const { stream: id } = block;
    switch (streams.stateOf(id)) {
      case 'idle':
        return takeRequest(block);
      case 'open':
        return takeAnswer(block, streams.get(id));
      case 'halfClosed':
        throw new StreamViolation(id, 'headers after the end of the stream', errorCodes.streamClosed);
      case 'closed':
        throw new ProtocolViolation('headers after the end of the stream', errorCodes.streamClosed);
      case 'skipped':
        throw new ProtocolViolation('a stream that is lower than the one before');
      case 'cut':
        return;
    }
  }

  function takeRequest(block: HeaderBlock): void {
    const { stream: id, headers } = block;
    if (role === 'client' || id % 2 === 0) throw new ProtocolViolation('a stream that the peer may not begin');
    if (streams.count() >= maxConcurrentStreams) {
      streams.refuse(id);
      throw new StreamViolation(id, 'too many streams', errorCodes.refusedStream);
    }
    const stream = streams.accept(id);
    const wrong = malformation(headers, 'request');
    if (wrong !== undefined) {
      streams.refuse(id);
      throw new StreamViolation(id, wrong);
    }
    stream.announced = contentLengthOf(headers);
    outgoing.begin(id);
    deliverHeaders(stream, block);
  }

  /** Takes a response, or trailers of either role. */
  function takeAnswer(block: HeaderBlock, stream: Stream | undefined): void {
    if (stream === undefined) return;
    const kind = stream.peer === 'beforeHeaders' ? 'response' : 'trailers';
    const wrong = malformation(block.headers, kind);
    if (wrong !== undefined) throw new StreamViolation(stream.id, wrong);
    if (kind === 'trailers' && block.position === 'more')
      throw new StreamViolation(stream.id, 'trailers without an end');
    if (kind === 'response') {
      const isInterim = block.headers.some(([name, value]) => name === ':status' && value.startsWith('1'));
      if (isInterim && block.position === 'last') throw new StreamViolation(stream.id, 'interim response with an end');
      if (isInterim) return;
      stream.peer = 'afterHeaders';
      // A response without content may announce the length that it would have (RFC 9110, 8.6).
      if (block.position === 'more') stream.announced = contentLengthOf(block.headers);
    }
    deliverHeaders(stream, block);
  }

  function deliverHeaders(stream: Stream, { headers, position }: HeaderBlock): void {
    if (position === 'last') checkContentLength(stream);
    streams.peerSaid(stream, position);
    events.onHeaders(stream.id, headers, position);
  }

  function takeData(frame: Frame): void {
    const { stream: id, payload } = frame;
    const state = streams.stateOf(id);
    if (state === 'idle' || state === 'skipped') throw new ProtocolViolation('data on a stream that never began');
    const bytes = bodyOf(frame);
    used = giveBack(0, used + payload.length);
    if (state === 'cut') return;
    const stream = streams.get(id);
    if (stream === undefined || state !== 'open') {
      throw new StreamViolation(id, 'data after the end of the stream', errorCodes.streamClosed);
    }
    if (stream.peer === 'beforeHeaders') throw new StreamViolation(id, 'data before headers');
    const position = positionOf(frame);
    stream.used += payload.length;
    if (position === 'more') stream.used = giveBack(id, stream.used);
    stream.received += bytes.length;
    if (position === 'last' || stream.received > (stream.announced ?? Infinity)) checkContentLength(stream);
    streams.peerSaid(stream, position);
    events.onData(id, bytes, position);
  }

  /** Gives the peer back what it has used, when that is much of the window. Returns what remains used. */
  function giveBack(stream: number, usedBytes: number): number {
    if (!isDue(usedBytes)) return usedBytes;
    send(frameTypes.windowUpdate, { stream }, uint32s(usedBytes));
    return 0;
  }

  function takeWindowUpdate({ stream, payload }: Frame): void {
    const bytes = payload.readUInt32BE(0) & 0x7fff_ffff;
    const state = stream === 0 ? 'open' : streams.stateOf(stream);
    if (state === 'idle' || state === 'skipped') throw new ProtocolViolation('window of a stream that never began');
    if (bytes === 0 && stream === 0) throw new ProtocolViolation('window update of 0 bytes');
    if (state !== 'open' && state !== 'halfClosed') return;
    if (bytes === 0) throw new StreamViolation(stream, 'window update of 0 bytes');
    outgoing.widen(stream, bytes);
  }

  function takeReset({ stream, payload }: Frame): void {
    const state = streams.stateOf(stream);
    if (state === 'idle' || state === 'skipped') throw new ProtocolViolation('reset of a stream that never began');
    if (streams.get(stream) === undefined) return;
    outgoing.forget(stream);
    streams.end(stream, 'closed');
    const code = payload.readUInt32BE(0);
    events.onReset(stream, { code, reason: `stream terminated by RST_STREAM with error code: ${code}` });
  }

  /** Streams that the peer has not seen will not be answered; the others may be. */
  function takeGoAway({ payload }: Frame): void {
    if (role === 'server') return;
    phase = 'goingAway';
    const last = payload.readUInt32BE(0) & 0x7fff_ffff;
    for (const stream of streams.ids().filter((id) => id > last)) {
      // The listener of one before may have reset it, or closed the connection.
      if (streams.get(stream) === undefined) continue;
      outgoing.forget(stream);
      streams.end(stream, 'cut');
      events.onReset(stream, { code: errorCodes.refusedStream, reason: 'the driver is going away' });
    }
    offerCapacity();
  }

  function offerCapacity(): void {
    if (!isClosed()) events.onCapacity();
  }

  socket.on('data', receive);
  socket.on('error', (error) => end(error.message));
  socket.on('end', () => end('the connection was closed'));
  socket.on('close', () => end('the connection was closed'));
  preface.send(socket);
  send(frameTypes.settings, { stream: 0 }, ownSettings(role));

  return {
    begin: () => {
      if (phase !== 'ready' || streams.count() >= peerMaxStreams) return undefined;
      const stream = streams.begin();
      outgoing.begin(stream);
      return stream;
    },
    isGoingAway: () => phase === 'goingAway' || phase === 'closed',
    sendHeaders: (stream, headers, position) => {
      guarded(() => outgoing.sendHeaders(stream, headers, position));
    },
    sendData: (stream, bytes, position) => guarded(() => outgoing.sendData(stream, bytes, position)),
    reset: (stream, code) => {
      if (streams.get(stream) !== undefined) guarded(() => cut(stream, code));
    },
    close: end,
  };
}

function goAwayFrame(lastStream: number, code: number): Buffer {
  return encodeFrame({ type: frameTypes.goAway, flags: 0, stream: 0, payload: uint32s(lastStream, code) });
}

function checkContentLength({ id, received, announced }: Stream): void {
  if (announced !== undefined && announced !== received)
    throw new StreamViolation(id, 'another content length than said');
}
