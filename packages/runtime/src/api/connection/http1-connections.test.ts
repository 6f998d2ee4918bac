// SPDX-License-Identifier: Apache-2.0
/** What a pool does with its sockets, which are in memory. */
import { getEventListeners } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { settle } from '../../../testing/index.ts';
import { asSocket, bodyText, rejectionOf } from '../../../testing/transport-fixture.ts';
import type { TransportRequest, TransportResponse } from '../transport.ts';
import { createHttp1Connections, type Http1Options } from './http1-connections.ts';

interface Wanted extends Partial<Pick<Http1Options, 'prefix' | 'headers'>> {
  /** Whether the pool begins with a connection on which HTTP/1.1 was negotiated. */
  readonly negotiated?: boolean;
  readonly answer?: RequestListener;
  readonly dial?: (connect: () => Socket) => Promise<Socket>;
}

/** An answer that has begun, and what can end it. */
interface Answered {
  readonly answer: TransportResponse;
  readonly stop: AbortController;
  readonly socket: Socket | undefined;
}

const serve: RequestListener = (_request, response) => response.end('served');
/** Begins an answer that stays open. */
const begin: RequestListener = (_request, response) => response.write('begun');

const setUp = ({ negotiated = false, answer = serve, dial = async (connect) => connect(), ...options }: Wanted) => {
  // A server that names no time of its own.
  const server = createServer({ keepAliveTimeout: 0 }, answer);
  const sockets: Socket[] = [];
  const timeouts = new Set<number>();
  let ends = 0;
  const connect = (): Socket => {
    const [near, far] = duplexPair();
    server.emit('connection', far);
    const socket = Object.assign(asSocket(near), { setTimeout: (ms: number) => timeouts.add(ms) }) as never as Socket;
    sockets.push(socket);
    return socket;
  };
  const pool = createHttp1Connections({
    first: negotiated ? connect() : undefined,
    dial: () => dial(connect),
    authority: 'api',
    prefix: '',
    headers: {},
    closed: () => {
      ends += 1;
      // Nothing is left to be closed again.
      pool.retire();
    },
    ...options,
  });
  const send = (request: Partial<TransportRequest> = {}) =>
    pool.send({ method: 'GET', path: '/x', headers: {}, signal: new AbortController().signal, ...request });
  /** What is left of each socket, whether the pool takes requests, and how often it has reported its end. */
  const state = async () => {
    for (let turn = 0; turn < 3; turn += 1) await settle();
    return [sockets.map(({ destroyed }) => (destroyed ? 'closed' : 'open')), pool.availability(), ends];
  };
  return { pool, send, sockets, timeouts, state };
};

/** Dials that wait until the test lets them succeed or fail. */
const heldDials = () => {
  const held: PromiseWithResolvers<void>[] = [];
  const dial = async (connect: () => Socket): Promise<Socket> => {
    const turn = Promise.withResolvers<void>();
    held.push(turn);
    await turn.promise;
    return connect();
  };
  return { held, dial };
};

describe('one request', () => {
  it('given a request with a body, then its method, its path behind the prefix, its headers and its length are sent', async () => {
    const seen: unknown[] = [];
    const { send } = setUp({
      prefix: 'http://api',
      headers: { 'proxy-authorization': 'Basic x' },
      answer: ({ method, url, rawHeaders }, response) => {
        seen.push([method, url, rawHeaders]);
        response.writeHead(201, { 'set-cookie': ['a', 'b'] }).end('done');
      },
    });
    const { status, headers, body } = await send({
      method: 'DELETE',
      headers: { accept: 'json' },
      body: Buffer.from('{}'),
    });
    expect([status, headers['set-cookie'], await bodyText({ status, headers, body })]).toEqual([201, 'a, b', 'done']);
    const headersSent = { host: 'api', 'proxy-authorization': 'Basic x', accept: 'json', 'content-length': '2' };
    expect(seen).toEqual([
      ['DELETE', 'http://api/x', [...Object.entries(headersSent).flat(), 'Connection', 'keep-alive']],
    ]);
  });

  it.each([
    { bytes: 2 ** 20 - 500, outcome: { status: 200 } },
    { bytes: 2 ** 20, outcome: { failure: 'reset', cause: { code: 'HPE_HEADER_OVERFLOW' } } },
  ])(
    'given an answer with a header of $bytes bytes, then up to 1 MiB of headers is taken',
    async ({ bytes, outcome }) => {
      const { send } = setUp({ answer: (_request, response) => response.setHeader('x', 'x'.repeat(bytes)).end() });
      const answer = await send().catch((error: unknown) => error);
      expect(answer).toMatchObject(outcome);
      // It would hold the answer, perhaps with a secret.
      expect(Object.keys((answer as Error).cause ?? {})).not.toContain('rawPacket');
    },
  );

  it('given a signal that has aborted, then nothing is opened', async () => {
    const { send, state } = setUp({});
    const stopped = { failure: 'aborted', cause: 'stop' };
    expect(await rejectionOf(send({ signal: AbortSignal.abort('stop') }))).toMatchObject(stopped);
    expect(await state()).toEqual([[], 'open', 0]);
  });

  it.each<readonly [string, string, RequestListener, (scene: Answered) => unknown]>([
    ['was read', 'kept', serve, ({ answer }) => bodyText(answer)],
    ['is ended early', 'closed', begin, ({ answer }) => answer.body[Symbol.asyncIterator]().return?.()],
    ['is cancelled', 'closed', begin, ({ stop }) => stop.abort()],
    [
      'breaks',
      'closed',
      begin,
      ({ answer, socket }) => {
        socket?.destroy();
        return rejectionOf(bodyText(answer));
      },
    ],
  ])('given an answer that %s, then its connection is %s, and nothing listens to its signal', async (...row) => {
    const [, fate, respond, end] = row;
    const stop = new AbortController();
    const { send, sockets, state } = setUp({ answer: respond });
    await end({ answer: await send({ signal: stop.signal }), stop, socket: sockets[0] });
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
    expect(await state()).toEqual([[fate === 'kept' ? 'open' : 'closed'], 'open', 0]);
  });
});

describe('a connection that breaks', () => {
  it.each([
    ['a read on a kept connection', 'GET', 'kept', 'ECONNRESET', 'unprocessed'],
    ['a write on a kept connection', 'POST', 'kept', 'ECONNRESET', 'reset'],
    ['a read on a new connection', 'GET', 'new', 'ECONNRESET', 'reset'],
    ['a read on a kept connection', 'GET', 'kept', 'ETIMEDOUT', 'timeout'],
    ['a read on a new connection', 'GET', 'new', 'EHOSTUNREACH', 'reset'],
  ] as const)('given %s (%s, %s), when it breaks with %s, then its failure is "%s"', async (...row) => {
    const [, method, connection, code, failure] = row;
    const stop = new AbortController();
    let isReady = connection === 'new';
    const { send, sockets } = setUp({
      answer: (_request, response) => {
        if (isReady) sockets[0]?.destroy(cause);
        else response.end('served');
      },
    });
    const cause = Object.assign(new Error('broken'), { code });
    if (connection === 'kept') await bodyText(await send());
    isReady = true;
    expect(await rejectionOf(send({ method, signal: stop.signal }))).toMatchObject({
      failure,
      message: 'broken',
      cause,
    });
    expect([getEventListeners(stop.signal, 'abort'), sockets.length]).toEqual([[], 1]);
  });

  it('given a kept connection that is reset inside of an answer, then the read may have been processed', async () => {
    let respond = serve;
    const { send, sockets } = setUp({ answer: (...exchange) => respond(...exchange) });
    await bodyText(await send());
    respond = begin;
    const answer = await send();
    sockets[0]?.destroy(Object.assign(new Error('broken'), { code: 'ECONNRESET' }));
    expect(await rejectionOf(bodyText(answer))).toMatchObject({ failure: 'reset' });
  });
});

describe('what is kept', () => {
  it('given 26 requests at once, then 25 of their connections are kept for 90 s', async () => {
    const { send, sockets, timeouts, state } = setUp({});
    await Promise.all(Array.from({ length: 26 }, async () => bodyText(await send())));
    const kept = async () => (await state()).flat().filter((each) => each === 'open').length - 1;
    expect([await kept(), timeouts.has(90_000)]).toEqual([25, true]);
    for (const socket of sockets) socket.emit('timeout');
    expect(await kept()).toBe(0);
  });

  it('given a connection that is kept for the next request, when the pool retires, then it is closed', async () => {
    const { pool, send, state } = setUp({});
    expect(await bodyText(await send())).toBe('served');
    expect(await state()).toEqual([['open'], 'open', 0]);
    pool.retire();
    expect(await state()).toEqual([['closed'], 'closed', 1]);
  });

  it('given a pool without a connection, when it retires, then it has ended', async () => {
    const { pool, state } = setUp({});
    pool.retire();
    expect(await state()).toEqual([[], 'closed', 1]);
  });

  it('given a connection that is being opened, when the pool is destroyed, then it is closed as soon as it is open', async () => {
    const { held, dial } = heldDials();
    const { pool, send, state } = setUp({ dial });
    const answer = rejectionOf(send());
    await pool.destroy(new Error('the pool is gone'));
    held[0]?.resolve();
    expect(await answer).toMatchObject({ message: 'the pool is gone' });
    expect(await state()).toEqual([['closed'], 'closed', 1]);
  });

  it('given a pool without a negotiated connection, when all of its connections have closed, then it opens others', async () => {
    const { send, sockets, state } = setUp({});
    await bodyText(await send());
    sockets[0]?.destroy();
    expect(await state()).toEqual([['closed'], 'open', 0]);
    await bodyText(await send());
    expect(await state()).toEqual([['closed', 'open'], 'open', 0]);
  });
});

describe('a pool that begins with a connection', () => {
  it('given a pool that is destroyed, then it is said to be so when its sockets have reported their ends', async () => {
    const { pool, sockets } = setUp({ negotiated: true });
    const reported: string[] = [];
    sockets[0]?.once('close', () => reported.push('closed'));
    await pool.destroy(new Error('the pool is gone'));
    expect(reported).toEqual(['closed']);
  });

  it.each(['retire', 'destroy'] as const)(
    'given no request, when %s is called on the pool, then it is closed',
    async (end) => {
      const { pool, state } = setUp({ negotiated: true });
      void pool[end](new Error('the pool is gone'));
      expect(await state()).toEqual([['closed'], 'closed', 1]);
    },
  );

  it('given two requests at once, then a second connection is opened, and the pool ends with the last of them', async () => {
    const { send, sockets, state } = setUp({ negotiated: true });
    await Promise.all([send().then(bodyText), send().then(bodyText)]);
    expect(await state()).toEqual([['open', 'open'], 'open', 0]);
    sockets[0]?.destroy();
    expect(await state()).toEqual([['closed', 'open'], 'open', 0]);
    sockets[1]?.destroy();
    expect(await state()).toEqual([['closed', 'closed'], 'closed', 1]);
  });

  it('given a connection that breaks before it is used, then another is opened, and the pool goes on', async () => {
    const { send, sockets, state } = setUp({ negotiated: true });
    sockets[0]?.emit('error', new Error('broken'));
    sockets[0]?.destroy();
    expect(await bodyText(await send())).toBe('served');
    expect(await state()).toEqual([['closed', 'open'], 'open', 0]);
  });

  it.each(['opened', 'refused'])(
    'given a second connection that was %s, and a third that is being opened, when the others are closed, then the pool waits for the third',
    async (second) => {
      const { held, dial } = heldDials();
      const { send, sockets, state } = setUp({ negotiated: true, answer: begin, dial });
      await send();
      const others = [send(), send()].map(rejectionOf);
      if (second === 'opened') held[0]?.resolve();
      else held[0]?.reject(new Error('refused'));
      await others[0];
      for (const socket of sockets) socket.destroy();
      expect((await state()).slice(1)).toEqual(['open', 0]);
      held[1]?.reject(new Error('refused'));
      expect(await others[1]).toMatchObject({ message: 'refused' });
      expect((await state()).slice(1)).toEqual(['closed', 1]);
    },
  );
});
