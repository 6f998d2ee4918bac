// SPDX-License-Identifier: Apache-2.0
/** The client at a peer that a test plays frame by frame, over a real socket, in virtual time. */
import { FakeClock, settle } from '@csi-sidecars/runtime/testing';
import { afterEach, expect, it } from 'vitest';
import { echoCodec, echoPath } from '../../testing/echo.ts';
import {
  type RawPeer,
  type RawServer,
  dataFrame,
  frame,
  goAway,
  headersFrame,
  rawServer,
  resetStream,
  responseFields,
  roundTrip,
  settings,
} from '../../testing/raw-peer.ts';
import type { Header } from '../hpack/hpack.ts';
import { uint32s } from '../http2/frames.ts';
import { frameMessage } from '../message-frame.ts';
import { type CallOutcome, type ClientConnection, connectClient } from './client.ts';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

const ids = { maxConcurrentStreams: 3 } as const;
const text = (value: string): Buffer => frameMessage(echoCodec.response.encode({ text: value }));
const ok: readonly Header[] = [['grpc-status', '0']];

interface Connected {
  readonly clock: FakeClock;
  readonly server: RawServer;
  readonly peer: RawPeer;
  readonly connection: ClientConnection;
  readonly call: (value?: string) => { readonly outcome: Promise<string>; readonly cancel: () => void };
}

async function connected(...set: readonly (readonly [id: number, value: number])[]): Promise<Connected> {
  const server = stack.use(await rawServer());
  const clock = new FakeClock();
  const connecting = connectClient({ clock, limitMs: 1000 }, { kind: 'unix', path: server.path });
  const peer = await server.accepted();
  peer.write(settings(...set));
  const result = await connecting;
  if (result.kind !== 'connected') throw new Error(result.reason);
  const { connection } = result;
  stack.defer(() => connection.close());
  const call = (value = 'a') => {
    const done = Promise.withResolvers<CallOutcome>();
    const request = echoCodec.request.encode({ text: value });
    const { cancel } = connection.call({ method: echoPath, request, timeoutMs: 1000 }, done.resolve);
    return { outcome: done.promise.then(textOf), cancel };
  };
  return { clock, server, peer, connection, call };
}

/** `a message` or `Code: why`. */
function textOf(outcome: CallOutcome): string {
  if (outcome.kind === 'failed') return `${outcome.status.code}: ${outcome.status.detail}`;
  expect(outcome.kind).toBe('answered');
  return (echoCodec.response.decode(outcome.message) as { readonly text: string }).text;
}

function answer(peer: RawPeer, stream: number, value: string): void {
  peer.write(headersFrame(stream, responseFields), dataFrame(stream, text(value)), headersFrame(stream, ok, 'last'));
}

it('given an answer, then the call gets it, and the peer got the request with its deadline', async () => {
  const { peer, call, clock } = await connected();
  const { outcome } = call();
  await peer.until(/^data 1 end/);
  answer(peer, 1, 'b');
  expect(await outcome).toBe('b');
  expect(clock.pending).toBe(0);
  expect(peer.seen.filter((line) => !line.startsWith('settings'))).toEqual([
    'headers 1 :method=POST :scheme=http :path=/test.Echo/Say :authority=localhost content-type=application/grpc te=trailers grpc-timeout=1000m',
    'data 1 end 8',
  ]);
});

it('given GOAWAY with last stream 0 and a socket that stays open, then calls are Unavailable and the connection ends', async () => {
  const { peer, connection, call, clock, server } = await connected();
  const calls = [call(), call()];
  await peer.until(/^data 3/);
  peer.write(goAway(0));
  const goingAway = 'Unavailable: the driver is going away';
  expect(await Promise.all(calls.map(({ outcome }) => outcome))).toEqual([goingAway, goingAway]);
  await connection.ended;
  await peer.closed;
  expect([clock.pending, server.openCount()]).toEqual([0, 0]);
});

it('given GOAWAY that has seen the first of two calls, then that one is answered, the others are Unavailable, and then it ends', async () => {
  const { peer, connection, call } = await connected();
  const [first, second] = [call('1'), call('2')];
  await peer.until(/^data 3/);
  peer.write(goAway(1));
  expect(await second.outcome).toBe('Unavailable: the driver is going away');
  expect(await call('3').outcome).toBe('Unavailable: the driver is going away');
  answer(peer, 1, '1');
  expect(await first.outcome).toBe('1');
  await connection.ended;
  expect(peer.seen.filter((line) => line.startsWith('headers')).length).toBe(2);
});

it('given GOAWAY without a call, then the connection ends', async () => {
  const { peer, connection } = await connected();
  peer.write(goAway(2 ** 31 - 1));
  await connection.ended;
  await peer.closed;
});

it.each([
  ['one', [['103', 'more']]],
  [
    'several',
    [
      ['100', 'more'],
      ['102', 'more'],
      ['103', 'more'],
    ],
  ],
] as const)('given %s interim responses (1xx) before the answer, then they are skipped', async (_, interim) => {
  const { peer, call } = await connected();
  const { outcome } = call();
  await peer.until(/^data 1/);
  for (const [status] of interim)
    peer.write(
      headersFrame(1, [
        [':status', status],
        ['link', '</a>'],
      ]),
    );
  answer(peer, 1, 'b');
  expect(await outcome).toBe('b');
});

const grpc = ['content-type', 'application/grpc'] as const;
it.each([
  ['an interim response that ends the stream', [[':status', '100']], 'Internal: interim response with an end'],
  ['a status of the prototype', [[':status', 'constructor']], 'Internal: response without a status'],
  ['no status', [grpc], 'Internal: response without a status'],
  ['an unusual status', [[':status', '599']], 'Unknown: unexpected HTTP status code received from server: 599'],
  ['status 503', [[':status', '503']], 'Unavailable: unexpected HTTP status code received from server: 503'],
  [
    'status 503 and a code',
    [
      [':status', '503'],
      ['grpc-status', '5'],
      ['grpc-message', 'a'],
    ],
    'NotFound: a',
  ],
  [
    'another content',
    [
      [':status', '200'],
      ['content-type', 'text/html'],
    ],
    'Unknown: unexpected content-type "text/html"',
  ],
  [
    'a similar content',
    [
      [':status', '200'],
      ['content-type', 'application/grpcx'],
    ],
    'Unknown: unexpected content-type "application/grpcx"',
  ],
  [
    'a code of the prototype',
    [...responseFields, ['grpc-status', 'constructor']],
    'Internal: transport: malformed grpc-status: "constructor"',
  ],
  [
    'a code beyond 31 bits',
    [...responseFields, ['grpc-status', '2147483648']],
    'Internal: transport: malformed grpc-status: "2147483648"',
  ],
  [
    'a code without a name',
    [...responseFields, ['grpc-status', '99'], ['grpc-message', 'a%20b%zz']],
    'Code(99): a b%zz',
  ],
  ['no code', responseFields, 'Internal: server closed the stream without sending trailers'],
  [
    'OK without a message',
    [...responseFields, ['grpc-status', '0']],
    'Internal: no message in the answer of a unary call',
  ],
  ['an upper-case name', [...responseFields, ['X', 'y']], 'Internal: field name "X"'],
  [
    'a field of a connection',
    [...responseFields, ['connection', 'close']],
    'Internal: field connection of a connection',
  ],
  [
    'a status twice',
    [
      [':status', '200'],
      [':status', '200'],
    ],
    'Internal: pseudo-header :status twice',
  ],
  [
    'a pseudo-header of requests',
    [
      [':status', '200'],
      [':path', '/'],
    ],
    'Internal: response with the pseudo-header :path',
  ],
  [
    'a pseudo-header at the end',
    [...responseFields, [':status', '200']],
    'Internal: pseudo-header :status after a regular field',
  ],
] as const)('given a response with %s and no more, then the call fails', async (_, fields, expected) => {
  const { peer, call } = await connected();
  const { outcome } = call();
  await peer.until(/^data 1/);
  peer.write(headersFrame(1, fields, 'last'));
  expect(await outcome).toBe(expected);
});

it.each([
  ['data before headers', [dataFrame(1, text('b'))], 'Internal: data before headers'],
  [
    'trailers without an end',
    [headersFrame(1, responseFields), headersFrame(1, ok)],
    'Internal: trailers without an end',
  ],
  [
    'trailers without a code',
    [headersFrame(1, responseFields), dataFrame(1, text('b')), headersFrame(1, [['x', 'y']], 'last')],
    'Internal: server closed the stream without sending trailers',
  ],
  [
    'less content than announced',
    [
      headersFrame(1, [...responseFields, ['content-length', '9']]),
      dataFrame(1, text('b')),
      headersFrame(1, ok, 'last'),
    ],
    'Internal: another content length than said',
  ],
  [
    'more content than announced',
    [headersFrame(1, [...responseFields, ['content-length', '7']]), dataFrame(1, text('b'))],
    'Internal: another content length than said',
  ],
  [
    'two lengths',
    [headersFrame(1, [...responseFields, ['content-length', '7'], ['content-length', '8']])],
    'Internal: two different content lengths',
  ],
  ['a reset: refused', [resetStream(1, 7)], 'Unavailable: stream terminated by RST_STREAM with error code: 7'],
  ['a reset: cancel', [resetStream(1, 8)], 'Canceled: stream terminated by RST_STREAM with error code: 8'],
  ['a reset: unknown', [resetStream(1, 77)], 'Internal: stream terminated by RST_STREAM with error code: 77'],
  ['a window of 0 more bytes', [frame('windowUpdate', 1, uint32s(0))], 'Internal: window update of 0 bytes'],
  [
    'the end of the stream in data',
    [headersFrame(1, responseFields), dataFrame(1, text('b'), 'last')],
    'Internal: server closed the stream without sending trailers',
  ],
  [
    'two messages',
    [headersFrame(1, responseFields), dataFrame(1, text('b')), dataFrame(1, text('c'))],
    'Internal: more than one message of a unary call',
  ],
  [
    'a compressed message',
    [headersFrame(1, responseFields), dataFrame(1, Buffer.from([1, 0, 0, 0, 0]))],
    'Unimplemented: compressed messages are not supported',
  ],
] as const)(
  'given %s, then that call fails, and the next one on the connection succeeds',
  async (_, frames, expected) => {
    const { peer, call } = await connected();
    const first = call();
    await peer.until(/^data 1/);
    peer.write(...frames);
    expect(await first.outcome).toBe(expected);
    const second = call();
    await peer.until(/^data 3/);
    answer(peer, 3, 'b');
    expect(await second.outcome).toBe('b');
  },
);

it.each([
  ['ends without a status', [dataFrame(1, text('b'), 'last')], /^Internal: server closed the stream without sending/],
  ['is reset', [dataFrame(1, text('b')), resetStream(1, 2)], /^Internal: stream terminated by RST_STREAM/],
  ['breaks with its connection', [dataFrame(1, text('b'))], /^Unavailable: /],
] as const)(
  '[csi-spec#22] given a whole message whose stream %s, then the call fails: only a clean end is an answer',
  async (how, frames, expected) => {
    const { peer, call } = await connected();
    const { outcome } = call();
    await peer.until(/^data 1/);
    peer.write(headersFrame(1, responseFields), ...frames);
    if (how === 'breaks with its connection') peer.socket.end();
    expect(await outcome).toMatch(expected);
  },
);

it.each([
  ['pings of a wrong length', [frame('ping', 0, Buffer.alloc(7))], 6],
  ['a stream of the server', [headersFrame(2, responseFields)], 1],
  ['an answer to a call that was never made', [headersFrame(7, responseFields)], 1],
  ['a promise', [frame('pushPromise', 1, uint32s(2))], 1],
  ['allowed push', [settings([2, 1])], 1],
  ['a header block that is none', [frame('headers', 1, Buffer.from([0x80]), 4)], 9],
] as const)(
  'given %s, then the connection is closed with its code, and the call is Unavailable',
  async (_, frames, code) => {
    const { peer, call, connection, clock } = await connected();
    const { outcome } = call();
    await peer.until(/^data 1/);
    peer.write(...frames);
    expect(await outcome).toMatch(/^Unavailable: /);
    await peer.until(`goAway 0 code ${code}`);
    await connection.ended;
    expect(clock.pending).toBe(0);
  },
);

it('given a peer that allows one stream, then the next call begins when the one before has ended', async () => {
  const { peer, call } = await connected([ids.maxConcurrentStreams, 1]);
  const calls = [call('1'), call('2'), call('3')];
  await peer.until(/^data 1/);
  await roundTrip(peer);
  expect(peer.seen.filter((line) => line.startsWith('headers')).length).toBe(1);
  for (const [index, stream] of [1, 3, 5].entries()) {
    await peer.until(new RegExp(`^data ${stream} `));
    answer(peer, stream, String(index));
  }
  expect(await Promise.all(calls.map(({ outcome }) => outcome))).toEqual(['0', '1', '2']);
});

it('given a call that waits for its turn and is canceled, then nothing is sent of it, and the next one has its turn', async () => {
  const { peer, call } = await connected([ids.maxConcurrentStreams, 1]);
  const [first, second, third] = [call('1'), call('2'), call('3')];
  await peer.until(/^data 1/);
  second.cancel();
  answer(peer, 1, '1');
  await peer.until(/^data 3/);
  answer(peer, 3, '3');
  expect([await first.outcome, await third.outcome]).toEqual(['1', '3']);
  expect(peer.seen.filter((line) => line.startsWith('headers')).length).toBe(2);
});

it('given a call that is canceled, then its stream is reset, and the next one has its turn', async () => {
  const { peer, call } = await connected([ids.maxConcurrentStreams, 1]);
  const [first, second] = [call('1'), call('2')];
  await peer.until(/^data 1/);
  first.cancel();
  await peer.until('resetStream 1 code 8');
  await peer.until(/^data 3/);
  // An answer that was on its way.
  answer(peer, 1, '1');
  answer(peer, 3, '2');
  expect(await second.outcome).toBe('2');
});

it('given a peer that allows no stream and then two, then calls wait and begin', async () => {
  const { peer, call } = await connected([ids.maxConcurrentStreams, 0]);
  const calls = [call('1'), call('2')];
  peer.write(settings([ids.maxConcurrentStreams, 2]));
  await peer.until(/^data 3/);
  answer(peer, 1, '1');
  answer(peer, 3, '2');
  expect(await Promise.all(calls.map(({ outcome }) => outcome))).toEqual(['1', '2']);
});

it('given calls that wait when the connection is lost or the peer goes away, then they are Unavailable', async () => {
  for (const end of [(peer: RawPeer) => peer.write(goAway(0)), (peer: RawPeer) => peer.socket.destroy()]) {
    const { peer, call, connection } = await connected([ids.maxConcurrentStreams, 1]);
    const calls = [call(), call(), call()];
    await peer.until(/^data 1/);
    end(peer);
    for (const { outcome } of calls) expect(await outcome).toMatch(/^Unavailable: /);
    await connection.ended;
  }
});

it.each([0, 1])(
  'given calls that wait at a peer that allows %i, and then ends the connection, then each of them ends with that reason',
  async (allowed) => {
    const { peer, call } = await connected([ids.maxConcurrentStreams, allowed]);
    const calls = [call(), call(), call()];
    await roundTrip(peer);
    peer.socket.end();
    const closed = 'Unavailable: the connection was closed';
    expect(await Promise.all(calls.map(({ outcome }) => outcome))).toEqual([closed, closed, closed]);
  },
);

it('given a lost connection and a call whose outcome cancels another one, then that one has no outcome', async () => {
  const { peer, connection } = await connected();
  const ended: string[] = [];
  const calls = ['1', '2'].map((name) =>
    connection.call({ method: echoPath, request: Buffer.alloc(0), timeoutMs: 1000 }, () => {
      ended.push(name);
      for (const { cancel } of calls) cancel();
    }),
  );
  peer.socket.end();
  await connection.ended;
  expect(ended).toEqual(['1']);
});

it('given a call whose outcome cancels the one that waits, then nothing is sent of that one', async () => {
  const { peer, connection, call } = await connected([ids.maxConcurrentStreams, 1]);
  const request = Buffer.alloc(0);
  connection.call({ method: echoPath, request, timeoutMs: 1000 }, () => second.cancel());
  const second = call('2');
  await peer.until(/^data 1/);
  answer(peer, 1, '1');
  await roundTrip(peer);
  expect(peer.seen.filter((line) => line.startsWith('headers')).length).toBe(1);
});

it('given a connection that is closed, then its calls end with that reason, and only then it has ended', async () => {
  const { peer, connection, call } = await connected();
  const [first, second] = [call('1'), call('2')];
  const order: string[] = [];
  void connection.ended.then(() => order.push('ended'));
  await peer.until(/^data 3/);
  answer(peer, 1, '1');
  order.push(await first.outcome);
  connection.close();
  order.push(await second.outcome);
  await connection.ended;
  expect(order).toEqual(['1', 'ended', 'Unavailable: grpc: the client connection is closing']);
});

it('given more calls at once than the peer reads, then the connection ends, and each of them ends with that reason', async () => {
  const { connection } = await connected();
  const details: string[] = [];
  for (let count = 0; count < 10_001; count += 1) {
    connection.call({ method: echoPath, request: Buffer.alloc(0), timeoutMs: 1000 }, (outcome) =>
      details.push(outcome.kind === 'failed' ? outcome.status.detail : outcome.kind),
    );
  }
  await connection.ended;
  expect(details).toEqual(Array.from({ length: 10_001 }, () => 'the peer does not read'));
});

it('given a peer that ends its half of the connection and keeps reading, then calls are Unavailable and the socket is closed', async () => {
  const { peer, call, connection } = await connected();
  const { outcome } = call();
  await peer.until(/^data 1/);
  peer.socket.end();
  expect(await outcome).toBe('Unavailable: the connection was closed');
  await connection.ended;
  await peer.closed;
});

it('given a peer that reads nothing and ends its half of the connection, then the call ends, though its request is not sent', async () => {
  const { peer, connection } = await connected([4, 2 ** 31 - 1]);
  peer.write(frame('windowUpdate', 0, uint32s(100_000_000)));
  await roundTrip(peer);
  peer.socket.pause();
  const done = Promise.withResolvers<CallOutcome>();
  connection.call({ method: echoPath, request: Buffer.alloc(8_000_000), timeoutMs: 1000 }, done.resolve);
  peer.socket.end();
  expect(textOf(await done.promise)).toBe('Unavailable: the connection was closed');
  await connection.ended;
});

it('given an answer in frames of one byte, then the window is given back in few frames', async () => {
  const { peer, call } = await connected();
  const { outcome } = call();
  await peer.until(/^data 1/);
  const message = text('x'.repeat(50_000));
  const bytes = [...message].map((byte) => dataFrame(1, Buffer.of(byte)));
  peer.write(headersFrame(1, responseFields), ...bytes, headersFrame(1, ok, 'last'));
  expect(await outcome).toHaveLength(50_000);
  await roundTrip(peer);
  expect(peer.seen.filter((line) => line.startsWith('windowUpdate'))).toEqual([
    'windowUpdate 16384',
    'windowUpdate 1 16384',
    'windowUpdate 16384',
    'windowUpdate 1 16384',
    'windowUpdate 16384',
    'windowUpdate 1 16384',
  ]);
});

it('given a peer that says nothing, or is not there, then the attempt fails, and nothing is left', async () => {
  const server = stack.use(await rawServer());
  const clock = new FakeClock();
  const connecting = connectClient({ clock, limitMs: 1000 }, { kind: 'unix', path: server.path });
  const peer = await server.accepted();
  await clock.advance(1000);
  expect(await connecting).toEqual({ kind: 'failed', reason: 'no answer within 1000 ms' });
  await peer.closed;
  const absent = await connectClient({ clock, limitMs: 1000 }, { kind: 'unix', path: `${server.path}.none` });
  expect(absent).toEqual({ kind: 'failed', reason: `connect ENOENT ${server.path}.none` });
  const refused = await connectClient({ clock, limitMs: 1000 }, { kind: 'tcp', host: '127.0.0.1', port: 1 });
  expect(refused).toEqual({ kind: 'failed', reason: 'connect ECONNREFUSED 127.0.0.1:1' });
  await settle();
  expect([clock.pending, server.openCount()]).toEqual([0, 0]);
});
