// SPDX-License-Identifier: Apache-2.0
/** Real sockets, virtual time. */
import { getEventListeners, once } from 'node:events';
import { createServer, Socket, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createTestAuthority, FakeClock, recordingLogger, settle, type TestExchange } from '../../../testing/index.ts';
import {
  answerJson,
  answerWatches,
  bodyText,
  callsOf,
  createTransportFixture,
  openWires,
  rejectionOf,
} from '../../../testing/transport-fixture.ts';
import { createApiClient } from '../create-client.ts';
import { persistentVolumes } from '../resource.ts';
import { parseEndpoint } from './endpoint.ts';
import { createServerTransport } from './server-transport.ts';

const fixture = createTransportFixture();
const { authority, setUp, onEnd } = fixture;
afterEach(fixture.closeAll);

const clientOf = ({ transport, clock }: Pick<Awaited<ReturnType<typeof setUp>>, 'transport' | 'clock'>) =>
  createApiClient(
    { transport: transport.send, clock, logger: recordingLogger() },
    { userAgent: 'test', qps: -1, burst: 0 },
  );

describe('HTTP/2', () => {
  it('given many requests at once, then they share one connection and name their path and headers', async () => {
    const seen: unknown[] = [];
    const { server, get, post } = await setUp({
      answer: ({ request, response }) => {
        seen.push([request.httpVersion, request.headers['accept'], request.headers[':authority']]);
        answerJson(response, { url: request.url });
      },
    });
    const answers = await Promise.all(Array.from({ length: 50 }, async (_, n) => bodyText(await get(`/x?n=${n}`))));
    expect(answers[49]).toBe('{"url":"/x?n=49"}');
    await bodyText(await post('/y', '{}'));
    expect([server.wires.length, seen[0]]).toEqual([1, ['2.0', 'application/json', `127.0.0.1:${server.port}`]]);
  });

  it.each(['identity', 'trust'] as const)(
    'given certificates (%s) that change while a connection is dialed, then what was dialed with the old ones is not used',
    async (change) => {
      const shown: string[] = [];
      let onDisk = 'old';
      const dialing = Promise.withResolvers<void>();
      let refreshes = 0;
      const rotate = async (): Promise<typeof change> => {
        await dialing.promise;
        onDisk = 'new';
        return change;
      };
      const { server, get } = await setUp({
        answer: answerWatches,
        options: {
          tls: {
            options: () => {
              shown.push(onDisk);
              dialing.resolve();
              return { ca: authority.ca };
            },
            refresh: () => ((refreshes += 1) === 2 ? rotate() : undefined),
          },
        },
      });
      const answers = await Promise.all([get('/a'), get('/b')]);
      expect(await Promise.all(answers.map(bodyText))).toEqual(['{"connection":1}', '{"connection":1}']);
      expect([shown, server.wires.length]).toEqual([['old', 'new'], 2]);
    },
  );

  it('[runtime#1] given a peer that vanishes, then a PING is sent after 30 s, the connection is given up 15 s later, and the next request opens another', async () => {
    const { server, clock, get } = await setUp({ answer: answerWatches });
    const watch = (await get('/watch')).body[Symbol.asyncIterator]();
    expect(await watch.next()).toMatchObject({ done: false });
    server.wires[0]?.freeze();
    const lost = rejectionOf(watch.next());
    const unanswered = rejectionOf(get('/x'));
    await clock.advance(44_999);
    expect(server.wires.length).toBe(1);
    await clock.advance(1);
    expect(await lost).toMatchObject({ failure: 'reset', message: 'http2: client connection lost' });
    expect(await unanswered).toMatchObject({ failure: 'reset', message: 'http2: client connection lost' });
    expect(await bodyText(await get('/x'))).toBe('{"connection":1}');
  });

  it('given a silent peer that answers PING, then the connection is kept, and the next PING follows', async () => {
    const { server, clock, get } = await setUp({});
    await bodyText(await get('/a'));
    let pings = 0;
    server.sessions[0]?.on('ping', () => (pings += 1));
    for (let round = 1; round <= 3; round += 1) {
      await clock.advance(30_000);
      // The answer to PING arrives before the answer to a later request.
      await bodyText(await get('/b'));
      expect(pings).toBe(round);
    }
    expect([server.wires.length, openWires(server)]).toEqual([1, 1]);
  });

  it('[runtime#2] given an idle timeout of zero, then there are no PINGs', async () => {
    const { clock, get } = await setUp({ options: { health: { readIdleMs: 0, pingTimeoutMs: 15_000 } } });
    await bodyText(await get('/a'));
    expect(clock.pending).toBe(0);
  });

  it('[runtime#4] given GOAWAY and an open watch, then new requests use a new connection and the watch goes on', async () => {
    let watch: TestExchange | undefined;
    const { server, get } = await setUp({
      answer: (exchange) => {
        if (exchange.request.url === '/watch') watch = exchange;
        answerWatches(exchange);
      },
    });
    const lines = (await get('/watch')).body[Symbol.asyncIterator]();
    await lines.next();
    server.sessions[0]?.goaway(0);
    watch?.response.write('after\n');
    expect(String((await lines.next()).value)).toBe('after\n');
    expect(await bodyText(await get('/x'))).toBe('{"connection":1}');
    watch?.response.end('last\n');
    expect([String((await lines.next()).value), (await lines.next()).done]).toEqual(['last\n', true]);
  });

  it('[runtime#5] given GOAWAY below the stream of a POST, then the client sends it again on a new connection', async () => {
    const { server, clock, transport, get } = await setUp({
      answer: ({ request, stream, response, connection }) => {
        if (request.method === 'POST' && connection === 0) stream?.session?.goaway(0, 1);
        else answerJson(response, { metadata: { name: 'a' } });
      },
    });
    await bodyText(await get('/stream-1'));
    const client = clientOf({ transport, clock });
    const created = await client.create(persistentVolumes, { metadata: { name: 'a' } });
    expect(created.metadata?.name).toBe('a');
    expect(server.requests.slice(1)).toEqual(['POST /api/v1/persistentvolumes', 'POST /api/v1/persistentvolumes']);
    expect(server.wires.length).toBe(2);
  });

  it('[runtime#6] given REFUSED_STREAM on a PATCH, then the client sends it again', async () => {
    const refusedStream = 7;
    const { server, clock, transport } = await setUp({
      answer: ({ stream, response }) => {
        if (server.requests.length === 1) stream?.close(refusedStream);
        else answerJson(response, { metadata: { name: 'a' } });
      },
    });
    const client = clientOf({ transport, clock });
    const target = { resource: persistentVolumes, ref: { name: 'a' } };
    expect((await client.patch(target, { type: 'merge', body: {} })).metadata?.name).toBe('a');
    expect(server.requests).toEqual(['PATCH /api/v1/persistentvolumes/a', 'PATCH /api/v1/persistentvolumes/a']);
    expect(server.wires.length).toBe(1);
  });

  it('given GOAWAY with an error, then streams below it are broken and those above were not processed', async () => {
    const { get } = await setUp({
      answer: (exchange) => {
        if (exchange.request.url === '/above') exchange.stream?.session?.goaway(2, 1);
        else answerWatches(exchange);
      },
    });
    const watch = (await get('/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    const above = rejectionOf(get('/above'));
    expect(await rejectionOf(watch.next())).toMatchObject({ failure: 'reset' });
    expect(await above).toMatchObject({ failure: 'unprocessed' });
  });

  it.each([
    ['reset', 'reset'],
    ['end', 'eof'],
  ] as const)('given a wire that breaks by %s after a POST was sent, then it fails with %s', async (how, expected) => {
    const { server, post, get } = await setUp({
      answer: ({ request, response, connection }) => {
        if (request.url === '/break') server.wires[connection]?.[how]();
        else answerJson(response, { connection });
      },
    });
    expect(await rejectionOf(post('/break', '{}'))).toMatchObject({ name: 'TransportError', failure: expected });
    expect(await bodyText(await get('/x'))).toBe('{"connection":1}');
  });

  it.each(['reset', 'end'] as const)(
    'given a wire that breaks by %s inside a body, then the body fails',
    async (how) => {
      const { server, get } = await setUp({ answer: answerWatches });
      const watch = (await get('/watch')).body[Symbol.asyncIterator]();
      await watch.next();
      server.wires[0]?.[how]();
      expect(await rejectionOf(watch.next())).toMatchObject({ failure: expect.stringMatching(/^(eof|reset)$/) });
      expect(await watch.next()).toEqual({ done: true, value: undefined });
    },
  );

  it('given a connection that ends while its body is not read, then a later read does not report a complete body', async () => {
    const { server, get } = await setUp({ answer: answerWatches });
    const [begun, untouched] = await Promise.all([get('/watch'), get('/watch')]);
    const lines = begun.body[Symbol.asyncIterator]();
    await lines.next();
    server.wires[0]?.end();
    while (openWires(server) > 0) await settle();
    expect(await rejectionOf(lines.next())).toMatchObject({ failure: 'eof' });
    expect(await rejectionOf(bodyText(untouched))).toMatchObject({ failure: 'eof' });
  });

  it.each(['h2', 'http/1.1'] as const)(
    'given a complete answer that is read late over %s, then it is whole',
    async (protocol) => {
      const large = 'x'.repeat(300_000);
      const { get } = await setUp({ protocols: [protocol], answer: ({ response }) => answerJson(response, large) });
      const late = await get('/x');
      for (let n = 0; n < 20; n += 1) await bodyText(await get('/y'));
      expect(await bodyText(late)).toBe(JSON.stringify(large));
    },
  );

  it('given a body that is ended early, whether it was read or not, then its stream is cancelled', async () => {
    const codes: (number | undefined)[] = [];
    const { get } = await setUp({
      answer: (exchange) => {
        exchange.stream?.on('close', () => codes.push(exchange.stream?.rstCode));
        answerWatches(exchange);
      },
    });
    for await (const _ of (await get('/watch')).body) break;
    await (await get('/watch')).body[Symbol.asyncIterator]().return?.();
    await bodyText(await get('/x'));
    await bodyText(await get('/x'));
    expect(codes.slice(0, 2)).toEqual([8, 8]);
  });

  it('given a reader that does not read, then the peer stops sending', async () => {
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const { get } = await setUp({
      answer: ({ request, response }) => {
        if (request.url !== '/big') {
          answerJson(response, {});
          return;
        }
        const more = (): void => {
          while (sent < 64 * 2 ** 20) {
            sent += chunk.length;
            if (!response.write(chunk)) {
              response.once('drain', more);
              return;
            }
          }
          response.end();
        };
        more();
      },
    });
    const big = await get('/big');
    for (let n = 0; n < 50; n += 1) await bodyText(await get('/x'));
    expect(sent).toBeLessThan(4 * 2 ** 20);
    let received = 0;
    for await (const part of big.body) received += part.length;
    expect(received).toBe(64 * 2 ** 20);
  });
});

describe('cancelling', () => {
  it('[runtime#11] given headers but a body that stalls, then the deadline resets the stream', async () => {
    const stalled = Promise.withResolvers<TestExchange>();
    const { clock, transport } = await setUp({
      options: { health: { readIdleMs: 0, pingTimeoutMs: 0 } },
      answer: (exchange) => {
        exchange.response.setHeader('content-type', 'application/json');
        exchange.response.write('{');
        stalled.resolve(exchange);
      },
    });
    const client = clientOf({ transport, clock });
    const call = rejectionOf(client.get(persistentVolumes, { name: 'a' }));
    const { stream } = await stalled.promise;
    const closed = once(stream!, 'close');
    await clock.advance(70_000);
    expect(await call).toMatchObject({ failure: 'timeout', message: 'deadline of 70000 ms exceeded' });
    await closed;
    expect(stream?.rstCode).toBe(8);
  });

  it.each([['h2'], ['http/1.1']] as const)(
    'given %s and many requests on one signal, then none leaves a listener on it',
    async (protocol) => {
      const stop = new AbortController();
      const { get } = await setUp({ protocols: [protocol], answer: answerWatches });
      for (let n = 0; n < 20; n += 1) {
        await bodyText(await get('/x', stop.signal));
        for await (const _ of (await get('/watch', stop.signal)).body) break;
      }
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
      const watch = (await get('/watch', stop.signal)).body[Symbol.asyncIterator]();
      await watch.next();
      const waiting = rejectionOf(watch.next());
      stop.abort('stop');
      expect(await waiting).toMatchObject({ failure: 'aborted', cause: 'stop' });
      expect(await rejectionOf(get('/x', stop.signal))).toMatchObject({ failure: 'aborted' });
      expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    },
  );

  it('given an abort while the connection is being opened, then the request fails at once', async () => {
    const { get, clock } = await setUp({ options: {} });
    const stop = new AbortController();
    const call = rejectionOf(get('/x', stop.signal));
    stop.abort('stop');
    expect(await call).toMatchObject({ failure: 'aborted', cause: 'stop' });
    expect(clock.monotonicMs()).toBe(0);
  });
});

describe('opening a connection', () => {
  const transportTo = (url: string, connect?: () => Socket) => {
    const clock = new FakeClock();
    const transport = createServerTransport(
      { clock, ...(connect && { connect }) },
      {
        endpoint: parseEndpoint(url, 'https'),
        http2: 'allowed',
        health: { readIdleMs: 30_000, pingTimeoutMs: 15_000 },
        tls: { options: () => ({ ca: authority.ca }), refresh: () => undefined },
      },
    );
    onEnd(transport.close);
    return { clock, ...callsOf(transport) };
  };

  it('[runtime#9] given a server that never completes TLS, then the request fails after 10 s', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { clock, get } = transportTo(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const call = rejectionOf(get('/x'));
    const [socket] = (await once(server, 'connection')) as [Socket];
    await once(socket, 'readable');
    await clock.advance(9_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    expect(await call).toMatchObject({ failure: 'timeout', message: 'net/http: TLS handshake timeout' });
    expect(clock.pending).toBe(0);
    socket.destroy();
    server.close();
  });

  it('[runtime#10] given an address that does not answer, then the request fails after 30 s', async () => {
    const silent = new Socket();
    const { clock, get } = transportTo('https://192.0.2.1:443', () => silent);
    const call = rejectionOf(get('/x'));
    await clock.advance(29_999);
    expect(silent.destroyed).toBe(false);
    await clock.advance(1);
    expect(await call).toMatchObject({ failure: 'timeout', message: 'dial tcp 192.0.2.1:443: i/o timeout' });
    expect(silent.destroyed).toBe(true);
  });

  it('given a refused connection, then the failure names that reason, and the next request tries again', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const { get } = transportTo(`https://127.0.0.1:${port}`);
    expect(await rejectionOf(get('/x'))).toMatchObject({ failure: 'refused', cause: { code: 'ECONNREFUSED' } });
    expect(await rejectionOf(get('/x'))).toMatchObject({ failure: 'refused' });
  });

  it('given a name that does not resolve, then the failure says so', async () => {
    const { get } = transportTo('https://name.invalid:443', () => {
      const socket = new Socket();
      queueMicrotask(() => socket.destroy(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })));
      return socket;
    });
    expect(await rejectionOf(get('/x'))).toMatchObject({ failure: 'lookup' });
  });

  it('given a server that resets during the handshake, then the failure says so', async () => {
    const server = createServer((socket) => socket.once('readable', () => socket.resetAndDestroy())).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const { get } = transportTo(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    expect(await rejectionOf(get('/x'))).toMatchObject({ name: 'TransportError', failure: 'reset' });
    server.close();
  });

  it('given a certificate of an unknown authority, or for another name, then the failure is of TLS', async () => {
    const strangers = await setUp({ tls: { ca: createTestAuthority().ca } });
    expect(await rejectionOf(strangers.get('/x'))).toMatchObject({ failure: 'tls' });
    const wrongName = await setUp({ certificate: authority.issue({ commonName: 'x', hosts: ['elsewhere'] }) });
    expect(await rejectionOf(wrongName.get('/x'))).toMatchObject({ failure: 'tls' });
  });

  it('given another server name to verify, or none, then the connection is made', async () => {
    const named = authority.issue({ commonName: 'x', hosts: ['elsewhere'] });
    const overridden = await setUp({ certificate: named, tls: { servername: 'elsewhere' } });
    expect((await overridden.get('/x')).status).toBe(200);
    const unverified = await setUp({ certificate: named, tls: { rejectUnauthorized: false } });
    expect((await unverified.get('/x')).status).toBe(200);
  });

  it('given a server that asks for a client certificate, then it is shown', async () => {
    const clientAuthority = createTestAuthority('clients');
    const answer = ({ response, request }: TestExchange): void =>
      answerJson(
        response,
        (request.socket as unknown as { getPeerCertificate(): { subject: unknown } }).getPeerCertificate().subject,
      );
    const known = await setUp({
      clientAuthority: clientAuthority.ca,
      tls: clientAuthority.issue({ commonName: 'me' }),
      answer,
    });
    expect(await bodyText(await known.get('/x'))).toBe('{"CN":"me"}');
  });

  it('given a closed transport, then nothing is open and nothing is sent any more', async () => {
    const { transport, server, get, clock } = await setUp({ answer: answerWatches });
    const watch = (await get('/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    await transport.close();
    expect(await rejectionOf(watch.next())).toMatchObject({ name: 'TransportError' });
    expect(await rejectionOf(get('/x'))).toMatchObject({ failure: 'aborted', message: 'the transport is closed' });
    expect([clock.pending, server.requests]).toEqual([0, ['GET /watch']]);
  });
});
