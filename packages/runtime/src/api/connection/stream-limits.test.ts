// SPDX-License-Identifier: Apache-2.0
/** Requests that one connection cannot carry: too many streams, or a silent peer. Real sockets, virtual time. */
import { afterEach, describe, expect, it } from 'vitest';
import { recordingLogger, seededRandom, until, type TestExchange } from '../../../testing/index.ts';
import {
  answerJson,
  answerWatches,
  bodyText,
  createTransportFixture,
  rejectionOf,
} from '../../../testing/transport-fixture.ts';
import { withDeadline } from '../../clock/deadline.ts';
import { createLeaderElector } from '../../lease/leader-elector.ts';
import { createApiClient } from '../create-client.ts';

const fixture = createTransportFixture();
afterEach(fixture.closeAll);

describe('more requests than streams', () => {
  it('[runtime#182] given two streams a connection and five watches, then three connections carry them', async () => {
    const { server, get } = await fixture.setUp({ maxConcurrentStreams: 2, answer: answerWatches });
    const watches = [];
    // Each connection has said how many streams it allows before it is full.
    for (let n = 0; n < 5; n += 1) {
      await bodyText(await get('/x'));
      watches.push((await get('/watch')).body[Symbol.asyncIterator]());
    }
    const lines = await Promise.all(watches.map(async (watch) => String((await watch.next()).value)));
    expect([lines, server.wires.length]).toEqual([Array.from({ length: 5 }, () => 'line\n'), 3]);
  });

  it('[runtime#182] given a further connection, when it was idle for 90 s, then it closes, and the first one stays', async () => {
    const { clock, sockets, get } = await fixture.setUp({
      maxConcurrentStreams: 1,
      answer: answerWatches,
      options: { health: { readIdleMs: 0, pingTimeoutMs: 0 } },
    });
    const watch = (await get('/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    await bodyText(await get('/x'));
    await until(() => clock.pending === 1);
    await clock.advance(89_999);
    await bodyText(await get('/x'));
    await until(() => clock.pending === 1);
    await clock.advance(89_999);
    expect(sockets.map((socket) => socket.destroyed)).toEqual([false, false]);
    await clock.advance(1);
    await until(() => sockets[1]?.destroyed === true);
    expect([sockets[0]?.destroyed, clock.pending]).toEqual([false, 0]);
  });

  it('[runtime#182] given a hundred and fifty requests at once, then all are answered over two connections', async () => {
    const { server, get } = await fixture.setUp({ maxConcurrentStreams: 100, answer: answerWatches });
    const answers = await Promise.all(Array.from({ length: 150 }, () => get('/x')));
    expect((await Promise.all(answers.map(bodyText))).toSorted()).toEqual([
      ...Array.from({ length: 100 }, () => '{"connection":0}'),
      ...Array.from({ length: 50 }, () => '{"connection":1}'),
    ]);
    expect(server.wires.length).toBe(2);
  });

  it('[runtime#183] given a server that allows no stream, then a waiting request ends at once with its signal or its deadline', async () => {
    const { clock, server, get } = await fixture.setUp({ maxConcurrentStreams: 0, answer: answerWatches });
    // Refused on arrival, because it was sent before the server had said that it allows none.
    expect(await rejectionOf(get('/first'))).toMatchObject({ failure: 'unprocessed' });
    const stop = new AbortController();
    const aborted = rejectionOf(get('/x', stop.signal));
    const late = rejectionOf(withDeadline(clock, { ms: 5000 }, (signal) => get('/y', signal)));
    stop.abort('stop');
    expect(await aborted).toMatchObject({ failure: 'aborted', cause: 'stop' });
    await clock.advance(5000);
    expect(await late).toMatchObject({ failure: 'timeout' });
    expect(server.requests).toEqual([]);
  });
});

describe('a silent peer', () => {
  it('[runtime#183] given a body that stalls and a peer that reads nothing, then an abort ends it at once', async () => {
    const { server, get } = await fixture.setUp({ answer: answerWatches });
    const stop = new AbortController();
    const watch = (await get('/watch', stop.signal)).body[Symbol.asyncIterator]();
    await watch.next();
    server.wires[0]?.freeze();
    const call = rejectionOf(watch.next());
    stop.abort('stop');
    expect(await call).toMatchObject({ failure: 'aborted', cause: 'stop' });
  });

  it('[runtime#184] given a request without an answer by its deadline, then the next one uses another connection, and the dead one is given up 15 s later', async () => {
    const { server, clock, sockets, get } = await fixture.setUp({ answer: answerWatches });
    await bodyText(await get('/x'));
    server.wires[0]?.freeze();
    await clock.advance(1);
    const late = rejectionOf(withDeadline(clock, { ms: 5000 }, (signal) => get('/x', signal)));
    await clock.advance(5000);
    expect(await late).toMatchObject({ failure: 'timeout' });
    expect(await bodyText(await get('/x'))).toBe('{"connection":1}');
    await clock.advance(14_999);
    expect(sockets[0]?.destroyed).toBe(false);
    await clock.advance(1);
    expect(sockets[0]?.destroyed).toBe(true);
  });

  it.each([
    { given: 'that answers PING', readIdleMs: 30_000, connection: 0 },
    { given: 'that cannot be asked, because PINGs are off', readIdleMs: 0, connection: 1 },
  ])('[runtime#184] given a slow server $given, then later requests use connection $connection', async (row) => {
    const { server, clock, get } = await fixture.setUp({
      options: { health: { readIdleMs: row.readIdleMs, pingTimeoutMs: 15_000 } },
      answer: (exchange) => {
        if (exchange.request.url !== '/slow') answerWatches(exchange);
      },
    });
    const watch = (await get('/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    let pings = 0;
    server.sessions[0]?.on('ping', () => (pings += 1));
    await clock.advance(1);
    const late = rejectionOf(withDeadline(clock, { ms: 5000 }, (signal) => get('/slow', signal)));
    await until(() => server.requests.includes('GET /slow'));
    await clock.advance(5000);
    expect(await late).toMatchObject({ failure: 'timeout' });
    if (row.readIdleMs > 0) await until(() => pings === 1);
    const answers = [];
    for (let n = 0; n < 5; n += 1) answers.push(await bodyText(await get('/x')));
    expect(answers.at(-1)).toBe(`{"connection":${row.connection}}`);
  });

  it('[runtime#184] given a leader whose connection is dead, then it keeps its lease over another one', async () => {
    let version = 0;
    let stored: unknown;
    const { server, clock, transport, sockets } = await fixture.setUp({
      answer: (exchange) =>
        answerLease(exchange, { read: () => stored, write: (lease) => (stored = versioned(lease)) }),
    });
    const versioned = (lease: { metadata?: object }) => ({
      ...lease,
      metadata: { ...lease.metadata, resourceVersion: `${(version += 1)}` },
    });
    const logger = recordingLogger();
    const client = createApiClient(
      { transport: transport.send, clock, logger },
      { userAgent: 'test', qps: -1, burst: 0 },
    );
    const elector = createLeaderElector(
      { client, clock, random: seededRandom(1), logger },
      { namespace: 'kube-system', name: 'driver', identity: 'a' },
    );
    const stop = new AbortController();
    const run = elector.run(
      stop.signal,
      (signal) => new Promise((done) => signal.addEventListener('abort', () => done())),
    );
    // Between requests: the next renewal, the health and the idle timer of the new connection, the PING of the dead one.
    const timers = () => (sockets[0]?.destroyed === true ? 3 : 4);
    const renewed = (times: number) => until(() => version === times && clock.pending === timers());
    await until(() => elector.isLeader);
    server.wires[0]?.freeze();
    // The renewal at 5 s hangs until 10 s; the attempts after it go over a new connection.
    await clock.advance(5000);
    await clock.advance(5000);
    await renewed(2);
    for (let times = 3; times < 8; times += 1) {
      await clock.advance(5000);
      await renewed(times);
    }
    expect([elector.isLeader, server.wires.length]).toEqual([true, 2]);
    stop.abort();
    await run;
  });
});

interface Storage {
  readonly read: () => unknown;
  readonly write: (lease: { metadata?: object }) => unknown;
}

/** An API server for one Lease: reads, writes without preconditions, and no watches. */
function answerLease({ request, response }: TestExchange, { read, write }: Storage): void {
  if (request.url?.includes('watch') === true) {
    response.statusCode = 403;
    answerJson(response, { kind: 'Status', code: 403, reason: 'Forbidden' });
    return;
  }
  if (request.method === 'GET') {
    response.statusCode = read() === undefined ? 404 : 200;
    answerJson(response, read() ?? { kind: 'Status', code: 404, reason: 'NotFound' });
    return;
  }
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => answerJson(response, write(JSON.parse(Buffer.concat(chunks).toString()) as object)));
}
