// SPDX-License-Identifier: Apache-2.0
/** The server at a peer that a test plays frame by frame, over a real socket, in virtual time. */
import { Server } from 'node:net';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Text, echoCodec, echoMethods, echoPath } from '../../testing/echo.ts';
import {
  type RawPeer,
  dataFrame,
  frame,
  headersFrame,
  preface,
  rawClient,
  requestFields,
  resetStream,
  roundTrip,
  settings,
  socketPlace,
} from '../../testing/raw-peer.ts';
import type { Header } from '../hpack/hpack.ts';
import { uint32s } from '../http2/frames.ts';
import { frameMessage } from '../message-frame.ts';
import { serveUnary } from './server.ts';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

const request = requestFields(echoPath);
const text = (value: string): Buffer => frameMessage(echoCodec.request.encode({ text: value }));
const responseHeaders = ':status=200 content-type=application/grpc';

async function served(methods = echoMethods()) {
  const { path } = stack.use(await socketPlace());
  const clock = new FakeClock();
  const server = await serveUnary({ clock, methods }, path);
  stack.defer(() => server.close());
  const connect = async (): Promise<RawPeer> => {
    const peer = await rawClient(path);
    stack.defer(() => void peer.socket.destroy());
    return peer;
  };
  const shakenHands = async (): Promise<RawPeer> => {
    const peer = await connect();
    peer.write(preface, settings());
    await peer.until('settings ack');
    return peer;
  };
  return { clock, server, path, connect, shakenHands };
}

/** What came after the settings, once everything that was sent has been dealt with. */
async function answersOf(peer: RawPeer): Promise<readonly string[]> {
  await roundTrip(peer);
  return peer.seen.filter((line) => !/^(settings|ping)/.test(line));
}

function ask(peer: RawPeer, stream: number, value = 'a'): void {
  peer.write(headersFrame(stream, request), dataFrame(stream, text(value), 'last'));
}

const answered = (stream: number): readonly string[] => [
  `headers ${stream} ${responseHeaders}`,
  `data ${stream} 8`,
  `headers ${stream} end grpc-status=0`,
];

it('given a request, then it is answered, with or without trailers, padding and priority', async () => {
  const { shakenHands } = await served();
  const peer = await shakenHands();
  ask(peer, 1);
  peer.write(headersFrame(3, request), dataFrame(3, text('a')), headersFrame(3, [['x', 'y']], 'last'));
  const padded = Buffer.concat([Buffer.of(3), text('a'), Buffer.alloc(3)]);
  peer.write(frame('priority', 9, Buffer.from([0, 0, 0, 0, 1])), headersFrame(5, request), frame('data', 5, padded, 9));
  expect(await answersOf(peer)).toEqual([...answered(1), ...answered(3), ...answered(5)]);
});

describe('a stream that is wrong ends, and the next one is served', () => {
  const without = (name: string): readonly Header[] => request.filter(([each]) => each !== name);
  const refusal = (stream: number, code: number) => [`resetStream ${stream} code ${code}`];
  it.each<readonly [string, readonly Buffer[], readonly string[]]>([
    ['no method', [headersFrame(1, without(':method'), 'last')], refusal(1, 1)],
    ['no scheme', [headersFrame(1, without(':scheme'), 'last')], refusal(1, 1)],
    ['no path', [headersFrame(1, without(':path'), 'last')], refusal(1, 1)],
    ['an empty path', [headersFrame(1, [...without(':path').slice(0, 2), [':path', '']], 'last')], refusal(1, 1)],
    ['a path twice', [headersFrame(1, [[':path', '/'], ...request], 'last')], refusal(1, 1)],
    ['an unknown pseudo-header', [headersFrame(1, [[':a', 'b'], ...request], 'last')], refusal(1, 1)],
    ['a pseudo-header of responses', [headersFrame(1, [[':status', '200'], ...request], 'last')], refusal(1, 1)],
    [
      'a pseudo-header in trailers',
      [headersFrame(1, request), headersFrame(1, [[':path', '/']], 'last')],
      refusal(1, 1),
    ],
    ['te: gzip', [headersFrame(1, [...without('te'), ['te', 'gzip']], 'last')], refusal(1, 1)],
    ['transfer-encoding', [headersFrame(1, [...request, ['transfer-encoding', 'chunked']], 'last')], refusal(1, 1)],
    ['a length that is no number', [headersFrame(1, [...request, ['content-length', 'constructor']])], refusal(1, 1)],
    [
      'a length that is too small',
      [headersFrame(1, [...request, ['content-length', '1']]), dataFrame(1, text('a'))],
      refusal(1, 1),
    ],
    [
      'a length that is too large',
      [headersFrame(1, [...request, ['content-length', '9']]), dataFrame(1, text('a'), 'last')],
      refusal(1, 1),
    ],
    ['a length without content', [headersFrame(1, [...request, ['content-length', '9']], 'last')], refusal(1, 1)],
    ['headers that do not end it', [headersFrame(1, request), headersFrame(1, [['x', 'y']])], refusal(1, 1)],
    ['a window of 0 more bytes', [headersFrame(1, request), frame('windowUpdate', 1, uint32s(0))], refusal(1, 1)],
    [
      'a window beyond 2^31-1',
      [headersFrame(1, request), frame('windowUpdate', 1, uint32s(2 ** 31 - 1))],
      refusal(1, 3),
    ],
    ['GET', [headersFrame(1, [[':method', 'GET'], ...without(':method')], 'last')], ['headers 1 end :status=405']],
    [
      'another content',
      [headersFrame(1, [...without('content-type'), ['content-type', 'text/plain']], 'last')],
      ['headers 1 end :status=415'],
    ],
    [
      'a similar content',
      [headersFrame(1, [...without('content-type'), ['content-type', 'application/grpc-web']], 'last')],
      ['headers 1 end :status=415'],
    ],
    [
      'a method of the prototype',
      [headersFrame(1, requestFields('constructor')), dataFrame(1, text('a'), 'last')],
      [`headers 1 end ${responseHeaders} grpc-status=12 grpc-message=unknown method constructor`],
    ],
    [
      'no message',
      [headersFrame(1, request, 'last')],
      [`headers 1 end ${responseHeaders} grpc-status=13 grpc-message=the request cannot be read`],
    ],
    [
      'a message that cannot be read',
      [headersFrame(1, request), dataFrame(1, frameMessage(Buffer.of(0xff)), 'last')],
      [`headers 1 end ${responseHeaders} grpc-status=13 grpc-message=the request cannot be read`],
    ],
    [
      'two messages',
      [headersFrame(1, request), dataFrame(1, Buffer.concat([text('a'), text('b')]))],
      [
        `headers 1 end ${responseHeaders} grpc-status=13 grpc-message=more than one message of a unary call`,
        'resetStream 1 code 0',
      ],
    ],
    [
      'data after its reset',
      [headersFrame(1, request), resetStream(1, 8), dataFrame(1, text('a'), 'last')],
      refusal(1, 5),
    ],
    ['its reset', [headersFrame(1, request), resetStream(1, 8)], []],
  ])('given a request with %s', async (_, frames, expected) => {
    const { shakenHands } = await served();
    const peer = await shakenHands();
    peer.write(...frames);
    ask(peer, 3);
    const seen = await answersOf(peer);
    expect(seen).toEqual([...expected, ...answered(3)]);
  });

  it('given a request that is no gRPC, then it is answered when it has ended, however long it is', async () => {
    const { shakenHands } = await served();
    const peer = await shakenHands();
    peer.write(headersFrame(1, [[':method', 'PUT'], ...without(':method')]));
    for (let part = 0; part < 300; part += 1) peer.write(dataFrame(1, Buffer.alloc(16_384)));
    expect((await answersOf(peer)).filter((line) => !line.startsWith('windowUpdate'))).toEqual([]);
    peer.write(dataFrame(1, Buffer.alloc(0), 'last'));
    await peer.until('headers 1 end :status=405');
  });

  it('given a stream that has its answer, then data on it is refused, once', async () => {
    const { shakenHands } = await served();
    const peer = await shakenHands();
    ask(peer, 1);
    peer.write(dataFrame(1, text('a')), dataFrame(1, text('a')));
    expect(await answersOf(peer)).toEqual([...answered(1), 'resetStream 1 code 5']);
  });

  it('given a handler that throws, then the code is Internal, and the server goes on', async () => {
    let isBroken = true;
    const { shakenHands } = await served(
      echoMethods((given) => {
        if (isBroken) throw new Error('broken');
        return given;
      }),
    );
    const peer = await shakenHands();
    ask(peer, 1);
    await peer.until(`headers 1 end ${responseHeaders} grpc-status=13 grpc-message=Error: broken`);
    isBroken = false;
    ask(peer, 3);
    await peer.until('headers 3 end grpc-status=0');
  });
});

it('given a request with another method than POST, then no handler is called', async () => {
  const handle = vi.fn((given: Text) => given);
  const { shakenHands } = await served(echoMethods(handle));
  const peer = await shakenHands();
  peer.write(headersFrame(1, [[':method', 'PUT'], ...request.slice(1)]), dataFrame(1, text('a'), 'last'));
  expect(await answersOf(peer)).toEqual(['headers 1 end :status=405']);
  expect(handle).not.toHaveBeenCalled();
});

/** Sees the next server that listens. */
function listensSeen(): () => Server {
  const listen = vi.spyOn(Server.prototype, 'listen');
  stack.defer(() => listen.mockRestore());
  return () => listen.mock.contexts[0] as Server;
}

it('given a port, then the server listens on it when it is returned', async () => {
  const listener = listensSeen();
  const deps = { clock: new FakeClock(), methods: echoMethods() };
  const server = await serveUnary(deps, { port: 0, host: '127.0.0.1' });
  stack.defer(() => server.close());
  expect(listener().address()).toMatchObject({ address: '127.0.0.1' });
});

it('given a place where no socket can be, then listening is refused', async () => {
  const deps = { clock: new FakeClock(), methods: echoMethods() };
  await expect(serveUnary(deps, '/dev/null/a.sock')).rejects.toThrow('listen ENOTDIR');
});

it('given a server that is closed, then its connections are closed, and there are no new ones', async () => {
  const { server, path, shakenHands, clock } = await served();
  const peer = await shakenHands();
  server.close();
  await peer.closed;
  await expect(rawClient(path)).rejects.toThrow('connect ENOENT');
  expect(clock.pending).toBe(0);
});

it('given a connection that cannot be accepted, then the next one is served', async () => {
  const listener = listensSeen();
  const { shakenHands } = await served();
  listener().emit('error', new Error('accept EMFILE'));
  const peer = await shakenHands();
  ask(peer, 1);
  expect(await answersOf(peer)).toEqual(answered(1));
});

it('given a peer that opens the window of a stream before the answer, then the answer comes', async () => {
  const { connect } = await served();
  const peer = await connect();
  peer.write(preface, settings([4, 0]), headersFrame(1, request), frame('windowUpdate', 1, uint32s(8)));
  peer.write(dataFrame(1, text('a'), 'last'));
  expect(await answersOf(peer)).toEqual(answered(1));
});

describe('a connection that is wrong is closed with a code, and the next one is served', () => {
  const begun = headersFrame(1, request);
  const bits = { endHeaders: 4, padded: 8, priority: 0x20, ack: 1 } as const;
  it.each<readonly [string, readonly Buffer[], string]>([
    ['data without a stream', [dataFrame(0, text('a'))], '0 code 1'],
    ['data on a stream that never began', [dataFrame(1, text('a'))], '0 code 1'],
    ['data on a stream that was skipped', [headersFrame(3, request), dataFrame(1, text('a'))], '3 code 1'],
    ['headers without a stream', [headersFrame(0, request)], '0 code 1'],
    ['a stream of a server', [headersFrame(2, request)], '0 code 1'],
    ['a stream that is lower than the one before', [headersFrame(5, request), headersFrame(3, request)], '5 code 1'],
    ['headers on a stream that has its answer', [begun, dataFrame(1, text('a'), 'last'), begun], '1 code 5'],
    ['settings on a stream', [frame('settings', 1)], '0 code 1'],
    ['settings of a wrong length', [frame('settings', 0, Buffer.alloc(5))], '0 code 6'],
    ['settings that acknowledge and set', [frame('settings', 0, Buffer.alloc(6), bits.ack)], '0 code 6'],
    ['push that is neither on nor off', [settings([2, 2])], '0 code 1'],
    ['an initial window beyond 2^31-1', [settings([4, 2 ** 31])], '0 code 3'],
    ['frames that are too small', [settings([5, 16_383])], '0 code 1'],
    ['a ping on a stream', [frame('ping', 1, Buffer.alloc(8))], '0 code 1'],
    ['a ping of a wrong length', [frame('ping', 0, Buffer.alloc(7))], '0 code 6'],
    ['a reset without a stream', [resetStream(0, 8)], '0 code 1'],
    ['a reset of a stream that never began', [resetStream(1, 8)], '0 code 1'],
    ['a reset of a wrong length', [begun, frame('resetStream', 1, Buffer.alloc(3))], '1 code 6'],
    ['a window of 0 more bytes', [frame('windowUpdate', 0, uint32s(0))], '0 code 1'],
    ['a window of a stream that never began', [frame('windowUpdate', 1, uint32s(1))], '0 code 1'],
    ['a window of a wrong length', [frame('windowUpdate', 0, Buffer.alloc(3))], '0 code 6'],
    ['a window beyond 2^31-1', [frame('windowUpdate', 0, uint32s(2 ** 31 - 1))], '0 code 3'],
    ['a priority without a stream', [frame('priority', 0, Buffer.alloc(5))], '0 code 1'],
    ['a priority of a wrong length', [frame('priority', 1, Buffer.alloc(4))], '0 code 6'],
    ['a stream that depends on itself', [frame('priority', 1, Buffer.from([0, 0, 0, 1, 1]))], '0 code 1'],
    ['GOAWAY on a stream', [frame('goAway', 1, Buffer.alloc(8))], '0 code 1'],
    ['GOAWAY that is too short', [frame('goAway', 0, Buffer.alloc(7))], '0 code 6'],
    ['a promise', [frame('pushPromise', 1, uint32s(2))], '0 code 1'],
    ['a frame that is too long', [frame('data', 1, Buffer.alloc(16_385))], '0 code 6'],
    ['more padding than payload', [begun, frame('data', 1, Buffer.from([9, 1]), bits.padded)], '1 code 1'],
    ['headers without room for their priority', [frame('headers', 1, Buffer.alloc(3), bits.priority)], '0 code 6'],
    ['a continuation of nothing', [begun, frame('continuation', 1, Buffer.alloc(0), bits.endHeaders)], '1 code 1'],
    ['a block that is interrupted', [frame('headers', 1), frame('ping', 0, Buffer.alloc(8))], '0 code 1'],
    ['a block that is none', [frame('headers', 1, Buffer.from([0x80]), bits.endHeaders)], '0 code 9'],
    [
      'a block of too many frames',
      [frame('headers', 1), ...Array.from({ length: 1024 }, () => frame('continuation', 1))],
      '0 code 11',
    ],
  ])('given %s', async (_, frames, goAway) => {
    const { shakenHands, clock } = await served();
    const peer = await shakenHands();
    peer.write(...frames);
    await peer.closed;
    expect(peer.seen.at(-1)).toBe(`goAway ${goAway}`);
    const next = await shakenHands();
    ask(next, 1);
    expect(await answersOf(next)).toEqual(answered(1));
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['another preface', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['another first frame', Buffer.concat([preface, frame('ping', 0, Buffer.alloc(8))])],
    ['an acknowledgement first', Buffer.concat([preface, frame('settings', 0, Buffer.alloc(0), 1)])],
  ])('given %s', async (_, bytes) => {
    const { connect, clock } = await served();
    const peer = await connect();
    peer.write(bytes);
    await peer.closed;
    expect(peer.seen.at(-1)).toBe('goAway 0 code 1');
    expect(clock.pending).toBe(0);
  });
});

describe('limits', () => {
  it('given a hundred open streams, then the next one is refused, and once one ends there is room again', async () => {
    const { shakenHands } = await served();
    const peer = await shakenHands();
    for (let index = 0; index < 101; index += 1) peer.write(headersFrame(index * 2 + 1, request));
    expect(await answersOf(peer)).toEqual(['resetStream 201 code 7']);
    // Data that was on its way to the refused stream is no violation.
    peer.write(dataFrame(201, text('a'), 'last'), resetStream(1, 8));
    ask(peer, 203);
    expect((await answersOf(peer)).slice(1)).toEqual(answered(203));
  });

  it('given a hundred connections, then the next one is closed, and once one ends there is room again', async () => {
    const { connect, shakenHands } = await served();
    const peers = await Promise.all(Array.from({ length: 100 }, shakenHands));
    const refused = await connect();
    await refused.closed;
    expect(refused.seen).toEqual([]);
    peers[0]!.socket.destroy();
    await peers[0]!.closed;
    await expect.poll(async () => (await shakenHands().catch(() => undefined)) !== undefined).toBe(true);
  });

  it('given a peer that connects and says nothing, then it loses its connection after two minutes; one that spoke keeps it', async () => {
    const { connect, shakenHands, clock } = await served();
    const [silent, speaking] = [await connect(), await shakenHands()];
    await silent.until('settings');
    await clock.advance(119_999);
    expect(silent.socket.destroyed).toBe(false);
    await clock.advance(1);
    await silent.closed;
    await clock.advance(24 * 60 * 60_000);
    ask(speaking, 1);
    expect(await answersOf(speaking)).toEqual(answered(1));
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['pings', frame('ping', 0, Buffer.alloc(8))],
    ['settings', settings([4, 65_535])],
    ['requests', Buffer.alloc(0)],
  ])('given a peer that sends %s and reads no answer, then it loses its connection', async (what, bytes) => {
    const { connect, clock } = await served();
    const peer = await connect();
    peer.socket.pause();
    peer.write(preface, settings());
    let stream = -1;
    const chunk = (): Buffer =>
      what === 'requests'
        ? Buffer.concat(
            Array.from({ length: 500 }, () =>
              headersFrame((stream += 2), [[':method', 'GET'], ...request.slice(1)], 'last'),
            ),
          )
        : Buffer.concat(Array.from({ length: 2_000 }, () => bytes));
    const isOver = new Promise((resolve) => peer.socket.once('error', resolve).once('close', resolve));
    const pump = (): void => {
      while (!peer.socket.destroyed && peer.socket.write(chunk()));
    };
    peer.socket.on('drain', pump);
    pump();
    await isOver;
    expect(clock.pending).toBe(0);
  });

  it('given a peer that sends many pings and reads the answers, then it keeps its connection', async () => {
    const { shakenHands } = await served();
    const peer = await shakenHands();
    for (let round = 0; round < 15; round += 1) {
      peer.write(...Array.from({ length: 1_000 }, () => frame('ping', 0, Buffer.alloc(8))));
      await roundTrip(peer);
    }
    ask(peer, 1);
    expect(await answersOf(peer)).toEqual(answered(1));
  });

  it('given a method name of 60 KiB, then the answer that repeats it comes in frames that are not too long', async () => {
    const { shakenHands } = await served();
    const peer = await shakenHands();
    const path = `/${'x'.repeat(60_000)}`;
    const block = headersFrame(1, requestFields(path)).subarray(9);
    peer.write(frame('headers', 1, block.subarray(0, 16_384)));
    for (let at = 16_384; at < block.length; at += 16_384) {
      peer.write(frame('continuation', 1, block.subarray(at, at + 16_384), at + 16_384 >= block.length ? 4 : 0));
    }
    peer.write(dataFrame(1, text('a'), 'last'));
    // The reader of the test refuses frames that are too long, and does not join blocks.
    await peer.until('continuation 1');
    ask(peer, 3);
    await peer.until(/^headers 3/);
  });
});
