// SPDX-License-Identifier: Apache-2.0
/** A peer that writes whatever frames a test wants, on a socket of its own, and records those that it gets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Header, createHeaderDecoder, encodeHeaders } from '../src/hpack/hpack.ts';
import { createFrameReader } from '../src/http2/frame-reader.ts';
import { type Frame, encodeFrame, flags, frameTypes, uint32s } from '../src/http2/frames.ts';
import { prefaceText } from '../src/http2/preface.ts';

export interface RawPeer {
  readonly socket: Socket;
  /** Every frame that came, as one line of text. */
  readonly seen: readonly string[];
  /** Writes the bytes in one piece. */
  readonly write: (...parts: readonly Buffer[]) => void;
  /** Resolves when a line matches; rejects with what was seen when the other end closes the connection before. */
  readonly until: (line: string | RegExp) => Promise<void>;
  /** Resolves when the other end has closed the connection. */
  readonly closed: Promise<void>;
}

export function rawPeer(socket: Socket, role: 'client' | 'server'): RawPeer {
  const seen: string[] = [];
  const looks = new Set<() => void>();
  const over = Promise.withResolvers<void>();
  const lines = frameLines();
  let prefaceBytes = role === 'server' ? prefaceText.length : 0;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    const bytes = chunk.subarray(prefaceBytes);
    prefaceBytes = Math.max(prefaceBytes - chunk.length, 0);
    seen.push(...lines(bytes));
    for (const look of looks) look();
  });
  socket.on('close', () => {
    over.resolve();
    for (const look of looks) look();
  });
  return {
    socket,
    seen,
    write: (...parts) => void socket.write(Buffer.concat(parts)),
    closed: over.promise,
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const isThere = seen.some((line) => (typeof wanted === 'string' ? line === wanted : wanted.test(line)));
          if (!isThere && !socket.destroyed) return;
          looks.delete(look);
          if (isThere) resolve();
          else reject(new Error(`closed without ${String(wanted)}: ${seen.join(', ')}`));
        };
        looks.add(look);
        look();
      }),
  };
}

/** A peer may have allowed it. */
const largestFrame = 2 ** 24 - 1;

/** Turns what one end sends into lines, one for each frame. */
export function frameLines(): (bytes: Buffer) => readonly string[] {
  const reader = createFrameReader(largestFrame);
  const { decode } = createHeaderDecoder();
  return (bytes) => Array.from(reader.read(bytes), (frame) => lineOf(frame, decode));
}

const names = new Map<number, string>(Object.entries(frameTypes).map(([name, type]) => [type, name]));

/** `settings`, `ping ack`, `headers 1 end :status=200`, `data 1 5`, `resetStream 1 code 7`, `goAway 0 code 1`. */
function lineOf({ type, stream, flags: bits, payload }: Frame, decode: (block: Buffer) => readonly Header[]): string {
  const ofStream = stream === 0 ? [] : [stream];
  const end =
    (type === frameTypes.data || type === frameTypes.headers) && (bits & flags.endStream) !== 0 ? ['end'] : [];
  const more = (): readonly unknown[] => {
    switch (type) {
      case frameTypes.headers:
        // The rest of the block is not joined: no test needs it.
        return (bits & flags.endHeaders) === 0 ? [] : decode(payload).map(([name, value]) => `${name}=${value}`);
      case frameTypes.data:
        return [payload.length];
      case frameTypes.resetStream:
        return ['code', payload.readUInt32BE(0)];
      case frameTypes.goAway:
        return [payload.readUInt32BE(0), 'code', payload.readUInt32BE(4)];
      case frameTypes.windowUpdate:
        return [payload.readUInt32BE(0)];
      case frameTypes.ping:
        return [(bits & flags.ack) === 0 ? '' : 'ack', payload.readUInt32BE(4)];
      case frameTypes.settings:
        return (bits & flags.ack) === 0 ? [] : ['ack'];
      default:
        return [];
    }
  };
  return [names.get(type) ?? type, ...ofStream, ...end, ...more()].join(' ');
}

export const preface: Buffer = Buffer.from(prefaceText, 'latin1');

type FrameParts = readonly [type: keyof typeof frameTypes, stream: number, payload?: Buffer, flags?: number];

export function frame(...[type, stream, payload = Buffer.alloc(0), bits = 0]: FrameParts): Buffer {
  return encodeFrame({ type: frameTypes[type], stream, payload, flags: bits });
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.concat(
    pairs.map(([id, value]) => {
      const bytes = Buffer.alloc(6);
      bytes.writeUInt16BE(id, 0);
      bytes.writeUInt32BE(value, 2);
      return bytes;
    }),
  );
  return frame('settings', 0, payload);
}

export function headersFrame(stream: number, fields: readonly Header[], position: 'last' | 'more' = 'more'): Buffer {
  const bits = flags.endHeaders | (position === 'last' ? flags.endStream : 0);
  return frame('headers', stream, encodeHeaders(fields), bits);
}

export function dataFrame(stream: number, payload: Buffer, position: 'last' | 'more' = 'more'): Buffer {
  return frame('data', stream, payload, position === 'last' ? flags.endStream : 0);
}

export function ping(number: number): Buffer {
  return frame('ping', 0, uint32s(0, number));
}

/** Resolves when the other end has dealt with everything that was written before. */
export async function roundTrip(peer: RawPeer): Promise<void> {
  const number = peer.seen.length + 1;
  peer.write(ping(number));
  await peer.until(`ping ack ${number}`);
}

export function goAway(lastStream: number, code = 0): Buffer {
  return frame('goAway', 0, uint32s(lastStream, code));
}

export function resetStream(stream: number, code: number): Buffer {
  return frame('resetStream', stream, uint32s(code));
}

export const requestFields = (path: string): readonly Header[] => [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', path],
  [':authority', 'localhost'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];
export const responseFields: readonly Header[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];

export interface Place extends AsyncDisposable {
  readonly path: string;
}

/** A path for a socket, in a folder of its own. */
export async function socketPlace(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'grpc-'));
  return {
    path: join(folder, 'grpc.sock'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A server whose connections a test plays by hand. */
export interface RawServer extends AsyncDisposable {
  readonly path: string;
  /** The next connection. */
  readonly accepted: () => Promise<RawPeer>;
  /** Connections that are open now. */
  readonly openCount: () => number;
}

export async function rawServer(): Promise<RawServer> {
  const place = await socketPlace();
  const waiting: ((peer: RawPeer) => void)[] = [];
  const peers: RawPeer[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    const peer = rawPeer(socket, 'server');
    const next = waiting.shift();
    if (next === undefined) peers.push(peer);
    else next(peer);
  });
  await new Promise<void>((resolve) => server.listen(place.path, resolve));
  return {
    path: place.path,
    accepted: () =>
      new Promise((resolve) => {
        const peer = peers.shift();
        if (peer === undefined) waiting.push(resolve);
        else resolve(peer);
      }),
    openCount: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await place[Symbol.asyncDispose]();
    },
  };
}

export async function rawClient(path: string): Promise<RawPeer> {
  const socket = connect(path);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return rawPeer(socket, 'client');
}
