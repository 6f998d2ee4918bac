// SPDX-License-Identifier: Apache-2.0
/** One end of a connection, on a socket in memory whose peer is played frame by frame: all that it sends and reports, in order. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  dataFrame,
  frame,
  frameLines,
  goAway,
  headersFrame,
  ping,
  preface,
  requestFields,
  resetStream,
  responseFields,
  settings,
} from '../../testing/raw-peer.ts';
import type { Header } from '../hpack/hpack.ts';
import { uint32s } from './frames.ts';
import type { Session, SessionEvents } from './session-port.ts';
import { openSession } from './session.ts';
import type { Role } from './streams.ts';

const ids = { maxConcurrentStreams: 3, initialWindow: 4 } as const;
const request = requestFields('/a');
/** What a client under test asks. */
const question: readonly Header[] = [[':path', '/a']];
const begun = headersFrame(1, request);
const asked = headersFrame(1, request, 'last');
const widened = (stream: number, bytes: number): Buffer => frame('windowUpdate', stream, uint32s(bytes));
const announcing = (fields: readonly Header[], length: string): readonly Header[] => [
  ...fields,
  ['content-length', length],
];

interface Opened {
  readonly session: Session;
  readonly socket: EventEmitter;
  readonly written: readonly (Buffer | string)[];
  /** What comes of it: `> data 1 5` is sent, `headers 1 last` is reported, the socket is `destroyed`. */
  readonly during: (work: () => unknown) => readonly string[];
  /** What comes of these bytes. */
  readonly on: (...bytes: readonly Buffer[]) => readonly string[];
}

/** What a test does when an event is reported. */
type Reactions = Partial<Record<keyof SessionEvents, (session: Session, stream: number) => void>>;

/** The peer has said nothing yet. */
function opened(role: Role, react: Reactions = {}): Opened {
  const log: string[] = [];
  const written: (Buffer | string)[] = [];
  const lines = frameLines();
  const write = (bytes: Buffer | string): void => {
    written.push(bytes);
    if (typeof bytes !== 'string') log.push(...lines(bytes).map((line) => `> ${line}`));
  };
  const socket = Object.assign(new EventEmitter(), { write, destroy: () => log.push('destroyed') });
  const report = (name: keyof SessionEvents, text: string, stream = 0): void => {
    log.push(text);
    react[name]?.(session, stream);
  };
  const session: Session = openSession(socket as unknown as Socket, role, {
    onReady: () => report('onReady', 'ready'),
    onCapacity: () => report('onCapacity', 'capacity'),
    onHeaders: (stream, _, position) => report('onHeaders', `headers ${stream} ${position}`, stream),
    onData: (stream, { length }, position) => report('onData', `data ${stream} ${length} ${position}`, stream),
    onReset: (stream, { code, reason }) => report('onReset', `reset ${stream} code ${code}: ${reason}`, stream),
    onClosed: (reason) => report('onClosed', `closed: ${reason}`),
  });
  const during = (work: () => unknown): readonly string[] => {
    log.length = 0;
    work();
    return [...log];
  };
  return {
    session,
    socket,
    written,
    during,
    on: (...bytes) => during(() => socket.emit('data', Buffer.concat(bytes))),
  };
}

/** The peer has set what it sets. */
function connected(role: Role, first: Buffer = settings(), react: Reactions = {}): Opened {
  const end = opened(role, react);
  end.on(...(role === 'server' ? [preface, first] : [first]));
  return end;
}

/** A client that has begun streams 1, 3, ... */
function asking(count: number, first: Buffer = settings(), react: Reactions = {}): Opened {
  const end = connected('client', first, react);
  for (let stream = 0; stream < count; stream += 1) {
    end.session.sendHeaders(end.session.begin()!, question, 'more');
  }
  return end;
}

describe('settings', () => {
  it('given a client whose peer has set nothing, then it begins no stream before the settings, and one in the event of them', () => {
    const streams: unknown[] = [];
    const end = opened('client', { onReady: ({ begin }) => streams.push(begin()) });
    expect(end.session.begin()).toBeUndefined();
    expect(end.on(settings())).toEqual(['> settings ack', 'ready', 'capacity']);
    expect(end.on(settings())).toEqual(['> settings ack', 'capacity']);
    expect(streams).toEqual([1]);
  });

  it('given settings without a limit of streams, then the limit of those before stays', () => {
    const { session, on } = asking(1, settings([ids.maxConcurrentStreams, 1]));
    on(settings());
    expect(session.begin()).toBeUndefined();
  });

  it('given data that waits, and settings with a larger window, then it is sent before a call that waits may begin', () => {
    const { session, during, on } = connected('client', settings([ids.initialWindow, 2]), {
      onCapacity: ({ begin, sendHeaders }) => sendHeaders(begin() ?? 0, question, 'more'),
    });
    expect(during(() => session.sendData(1, Buffer.alloc(5), 'last'))).toEqual(['> data 1 2']);
    expect(on(settings([ids.initialWindow, 9]))).toEqual([
      '> settings ack',
      '> data 1 end 3',
      'capacity',
      '> headers 3 :path=/a',
    ]);
  });
});

describe('a connection that is wrong', () => {
  const third = headersFrame(3, request);
  it.each<readonly [string, Role, readonly Buffer[], string, string]>([
    ['a promise', 'client', [frame('pushPromise', 1, uint32s(2))], 'push was not allowed', '0 code 1'],
    [
      'a stream of the server',
      'client',
      [headersFrame(2, responseFields)],
      'a stream that the peer may not begin',
      '0 code 1',
    ],
    ['an even stream', 'server', [headersFrame(2, request)], 'a stream that the peer may not begin', '0 code 1'],
    [
      'headers after a reset',
      'server',
      [begun, resetStream(1, 8), begun],
      'headers after the end of the stream',
      '1 code 5',
    ],
    ['a lower stream', 'server', [third, begun], 'a stream that is lower than the one before', '3 code 1'],
    ['data too early', 'server', [dataFrame(1, Buffer.alloc(1))], 'data on a stream that never began', '0 code 1'],
    [
      'data that skips',
      'server',
      [third, dataFrame(1, Buffer.alloc(1))],
      'data on a stream that never began',
      '3 code 1',
    ],
    ['a window too early', 'server', [widened(1, 1)], 'window of a stream that never began', '0 code 1'],
    ['a window that skips', 'server', [third, widened(1, 1)], 'window of a stream that never began', '3 code 1'],
    ['a reset too early', 'server', [resetStream(1, 8)], 'reset of a stream that never began', '0 code 1'],
    ['a reset that skips', 'server', [third, resetStream(1, 8)], 'reset of a stream that never began', '3 code 1'],
    ['a window of 0 more bytes', 'server', [widened(0, 0)], 'window update of 0 bytes', '0 code 1'],
    [
      'a broken ping inside of a header block',
      'server',
      [frame('headers', 1), frame('ping', 0, Buffer.alloc(7))],
      'a header block was interrupted',
      '0 code 1',
    ],
  ])(
    'given %s at a %s, then the peer gets GOAWAY, the connection is closed, and what comes behind is not read',
    (...[, role, frames, reason, code]) => {
      const { on } = connected(role);
      expect(on(...frames, ping(7), headersFrame(9, request)).slice(-3)).toEqual([
        `> goAway ${code}`,
        'destroyed',
        `closed: ${reason}`,
      ]);
    },
  );

  it('given another frame before the settings, then the peer gets GOAWAY without flags', () => {
    const { on, written } = opened('server');
    expect(on(preface, ping(7))).toEqual(['> goAway 0 code 1', 'destroyed', 'closed: settings must come first']);
    expect(written.at(-1)).toEqual(Buffer.from('0000080700000000000000000000000001', 'hex'));
  });

  it.each([
    ['an error', new Error('broken'), 'broken'],
    ['a text', 'broken', 'broken'],
  ])(
    'given a listener that throws %s, then the connection is closed with the code of an internal error',
    (_, thrown, reason) => {
      const { on } = connected('server', settings(), {
        onHeaders: () => {
          throw thrown;
        },
      });
      expect(on(begun)).toEqual(['headers 1 more', '> goAway 1 code 2', 'destroyed', `closed: ${reason}`]);
    },
  );
});

describe('a stream', () => {
  const half = Buffer.alloc(4);
  const wasReset = 'reset 1 code 8: stream terminated by RST_STREAM with error code: 8';
  it.each<readonly [string, readonly Buffer[], readonly string[]]>([
    ['malformed headers', [headersFrame(1, [])], ['> resetStream 1 code 1']],
    [
      'headers after its end',
      [asked, begun],
      ['headers 1 last', '> resetStream 1 code 5', 'reset 1 code 5: headers after the end of the stream'],
    ],
    [
      'a window of 0 more bytes',
      [begun, widened(1, 0)],
      ['headers 1 more', '> resetStream 1 code 1', 'reset 1 code 1: window update of 0 bytes'],
    ],
    [
      'less content than was announced',
      [headersFrame(1, announcing(request, '8'), 'last')],
      ['> resetStream 1 code 1', 'reset 1 code 1: another content length than said'],
    ],
    [
      'data after its end',
      [asked, dataFrame(1, half)],
      ['headers 1 last', '> resetStream 1 code 5', 'reset 1 code 5: data after the end of the stream'],
    ],
    [
      'data after its reset',
      [begun, resetStream(1, 8), dataFrame(1, half)],
      ['headers 1 more', wasReset, '> resetStream 1 code 5'],
    ],
    [
      'another reset and a window after its reset',
      [begun, resetStream(1, 8), resetStream(1, 8), widened(1, 0)],
      ['headers 1 more', wasReset],
    ],
    ['the answer to a ping before it', [frame('ping', 0, Buffer.alloc(8), 1)], []],
    [
      'the content that was announced, in two parts',
      [headersFrame(1, announcing(request, '8')), dataFrame(1, half), dataFrame(1, half, 'last')],
      ['headers 1 more', 'data 1 4 more', 'data 1 4 last'],
    ],
  ])(
    'given a stream with %s at a server, then what is due comes of it and no more, and the connection goes on',
    (_, frames, expected) => {
      expect(connected('server').on(...frames, ping(7))).toEqual([...expected, '> ping ack 7']);
    },
  );

  it('given a response that begins with data, then its stream is reset', () => {
    const { on } = asking(1);
    expect(on(dataFrame(1, half))).toEqual(['> resetStream 1 code 1', 'reset 1 code 1: data before headers']);
  });

  it('given a response that announces content and has none, then it is taken', () => {
    const { on } = asking(1);
    expect(on(headersFrame(1, announcing(responseFields, '8'), 'last'))).toEqual(['headers 1 last']);
  });

  it('given data, then its window and that of the connection are given back at 16,384 bytes; an ended stream needs none', () => {
    const { on } = connected('server');
    on(begun);
    for (const _ of ['once', 'and again']) {
      expect(on(dataFrame(1, Buffer.alloc(16_383)))).toEqual(['data 1 16383 more']);
      expect(on(dataFrame(1, Buffer.alloc(1)))).toEqual([
        '> windowUpdate 16384',
        '> windowUpdate 1 16384',
        'data 1 1 more',
      ]);
    }
    expect(on(dataFrame(1, Buffer.alloc(16_384), 'last'))).toEqual(['> windowUpdate 16384', 'data 1 16384 last']);
  });
});

describe('data that waits for the window of the connection', () => {
  const full = Buffer.alloc(65_536);
  it.each<readonly [string, (end: Opened) => unknown]>([
    ['we reset its stream', ({ session }) => session.reset(1, 8)],
    ['the peer resets its stream', ({ on }) => on(resetStream(1, 8))],
    ['the peer goes away without an answer', ({ on }) => on(goAway(0))],
    ['its stream is wrong', ({ on }) => on(widened(1, 0))],
  ])(
    'given data that waits for the window of the connection, when %s, then it is not sent when there is room',
    (_, end) => {
      const client = asking(1, settings([ids.initialWindow, 100_000]));
      client.session.sendData(1, full, 'last');
      end(client);
      expect(client.on(widened(0, 10))).toEqual([]);
    },
  );

  it('given data that waits for the window of the connection, when its stream goes on, then it is sent when there is room', () => {
    const client = asking(1, settings([ids.initialWindow, 100_000]));
    client.session.sendData(1, full, 'last');
    expect(client.on(widened(0, 10))).toEqual(['> data 1 end 1']);
  });
});

const gone = 'reset 3 code 7: the driver is going away';
describe('GOAWAY', () => {
  it('given GOAWAY at a client whose first stream was seen, then only the second is over, no frame of it is reported, and none begins', () => {
    const { session, on } = asking(2, settings(), { onReset: ({ reset }, stream) => reset(stream, 8) });
    expect(on(goAway(1))).toEqual([gone, 'capacity']);
    expect(on(dataFrame(3, Buffer.alloc(1)), headersFrame(3, responseFields))).toEqual([]);
    expect(on(headersFrame(1, responseFields, 'last'), settings())).toEqual([
      'headers 1 last',
      '> settings ack',
      'capacity',
    ]);
    expect([session.isGoingAway(), session.begin()]).toEqual([true, undefined]);
  });

  it('given GOAWAY at a server, then it goes on with the requests that it has', () => {
    const { session, on, during } = connected('server');
    on(begun);
    expect(on(goAway(0))).toEqual([]);
    expect(session.isGoingAway()).toBe(false);
    expect(during(() => session.sendHeaders(1, [[':status', '200']], 'last'))).toEqual(['> headers 1 end :status=200']);
  });
});

describe('the end', () => {
  it.each<readonly [string, Reactions, readonly string[]]>([
    ['resets', { onReset: ({ reset }) => reset(5, 8) }, [gone, '> resetStream 5 code 8', 'capacity']],
    ['closes', { onReset: ({ close }) => close('enough') }, [gone, 'destroyed', 'closed: enough']],
  ])(
    'given GOAWAY for several streams and a listener that %s what is left, then no event of it follows',
    (_, react, expected) => {
      expect(asking(3, settings(), react).on(goAway(1))).toEqual(expected);
    },
  );

  it('given a listener that closes at the first settings, then no event follows', () => {
    const { on } = opened('client', { onReady: ({ close }) => close('enough') });
    expect(on(settings())).toEqual(['> settings ack', 'ready', 'destroyed', 'closed: enough']);
  });

  it('given a session that is closed, then that is reported once, and nothing is sent any more', () => {
    const { session, socket, on, during } = asking(1);
    expect(during(() => session.close('enough'))).toEqual(['destroyed', 'closed: enough']);
    const more = during(() => {
      session.close('again');
      socket.emit('close');
      session.sendHeaders(1, question, 'last');
      session.reset(1, 8);
    });
    expect([more, on(ping(7)), session.begin(), session.isGoingAway()]).toEqual([[], [], undefined, true]);
  });

  it('given a listener that closes and throws, then the peer gets nothing, and the frames behind are not read', () => {
    const { on } = connected('server', settings(), {
      onHeaders: ({ close }) => {
        close('enough');
        throw new Error('broken');
      },
    });
    expect(on(begun, ping(7))).toEqual(['headers 1 more', 'destroyed', 'closed: enough']);
  });

  it.each([
    ['error', new Error('ECONNRESET'), 'ECONNRESET'],
    ['end', undefined, 'the connection was closed'],
    ['close', undefined, 'the connection was closed'],
  ])('given the event "%s" of the socket, then the session is closed', (event, value, reason) => {
    const { socket, during } = connected('client');
    expect(during(() => socket.emit(event, value))).toEqual(['destroyed', `closed: ${reason}`]);
  });
});
