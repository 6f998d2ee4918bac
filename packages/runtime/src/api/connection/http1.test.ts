// SPDX-License-Identifier: Apache-2.0
/** HTTP/1.1: as a fallback, when HTTP/2 is switched off, without TLS, and through proxies. */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { settle, type TestExchange } from '../../../testing/index.ts';
import {
  answerJson,
  answerWatches,
  bodyText,
  createTransportFixture,
  openWires,
  rejectionOf,
} from '../../../testing/transport-fixture.ts';

const fixture = createTransportFixture();
const { setUp, onEnd } = fixture;
afterEach(fixture.closeAll);

const answerVersion = ({ request, response }: TestExchange): void =>
  answerJson(response, { version: request.httpVersion, host: request.headers.host, url: request.url });

/** Waits until the client has noticed the end of its connections, which takes some turns after the end of the TCP sockets. */
async function untilOpen(sockets: readonly Socket[], count: number): Promise<void> {
  while (sockets.filter(({ destroyed }) => !destroyed).length > count) await settle();
  for (let turn = 0; turn < 100; turn += 1) await settle();
}

describe('HTTP/1.1', () => {
  it('given a server without HTTP/2, then the connection on which HTTP/1.1 was negotiated is used and kept', async () => {
    const { server, get, post } = await setUp({ protocols: ['http/1.1'], answer: answerVersion });
    const expected = `{"version":"1.1","host":"127.0.0.1:${server.port}","url":"/x"}`;
    expect(await bodyText(await get('/x'))).toBe(expected);
    expect(await bodyText(await post('/x', '{}'))).toBe(expected);
    expect(server.wires.length).toBe(1);
  });

  it('given HTTP/1.1 with a server that is replaced by one with HTTP/2, then HTTP/1.1 stays until its last connection is closed, and then HTTP/2 is used', async () => {
    const [{ server, get, moveTo, sockets }, next] = await Promise.all([
      setUp({ protocols: ['http/1.1'], answer: answerWatches }),
      setUp({ answer: answerVersion }),
    ]);
    await get('/watch');
    await bodyText(await get('/x'));
    moveTo(next.server);
    // The connection that is kept for the next request is lost first, then that of the watch.
    server.wires[1]?.reset();
    await untilOpen(sockets, 1);
    expect(await bodyText(await get('/x'))).toContain('"version":"1.1"');
    for (const wire of [...server.wires, ...next.server.wires]) wire.reset();
    await untilOpen(sockets, 0);
    expect(await bodyText(await get('/x'))).toContain('"version":"2.0"');
    expect(await bodyText(await get('/x'))).toContain('"version":"2.0"');
    expect([server.wires.length, next.server.wires.length]).toEqual([2, 2]);
  });

  describe('given HTTP/1.1 and an open watch, with a server that is replaced by one with HTTP/2', () => {
    const replaced = async () => {
      const [old, next] = await Promise.all([
        // Without PINGs, ten minutes can pass at once.
        setUp({
          protocols: ['http/1.1'],
          answer: answerWatches,
          options: { health: { readIdleMs: 0, pingTimeoutMs: 0 } },
        }),
        setUp({ answer: answerVersion }),
      ]);
      const watch = (await old.get('/watch')).body[Symbol.asyncIterator]();
      await watch.next();
      const versionOf = async (): Promise<string> => {
        const body = JSON.parse(await bodyText(await old.get('/x'))) as { readonly version?: string };
        return body.version ?? '1.1';
      };
      return { ...old, next, watch, versionOf };
    };
    /** The negotiation runs beside the request that caused it. */
    const untilHttp2 = async (versionOf: () => Promise<string>): Promise<void> => {
      while ((await versionOf()) !== '2.0') await settle();
    };

    it('[runtime#184a] when ten minutes have passed, then new requests use HTTP/2 over one connection, and the watch goes on', async () => {
      const { server, next, watch, versionOf, moveTo, clock, sockets } = await replaced();
      expect(await versionOf()).toBe('1.1');
      moveTo(next.server);
      await clock.advance(599_999);
      expect([await versionOf(), sockets.length]).toEqual(['1.1', 2]);
      await clock.advance(1);
      await untilHttp2(versionOf);
      expect(next.server.wires.length).toBe(1);
      await untilOpen(sockets, 2);
      expect(openWires(server)).toBe(1);
      await watch.return?.();
      await untilOpen(sockets, 1);
      expect(openWires(server)).toBe(0);
      await clock.advance(600_000);
      expect([await versionOf(), await versionOf(), next.server.wires.length]).toEqual(['2.0', '2.0', 1]);
    });

    it('[runtime#184a] when the negotiation fails, then requests use the old pool, and the next negotiation comes after ten minutes', async () => {
      const { next, versionOf, moveTo, clock, sockets } = await replaced();
      expect(await versionOf()).toBe('1.1');
      const unused = createServer().listen(0, '127.0.0.1');
      await once(unused, 'listening');
      const { port } = unused.address() as AddressInfo;
      unused.close();
      moveTo({ port });
      await clock.advance(600_000);
      expect(await versionOf()).toBe('1.1');
      await untilOpen(sockets, 2);
      moveTo(next.server);
      expect([await versionOf(), sockets.length]).toEqual(['1.1', 3]);
      await clock.advance(600_000);
      await untilHttp2(versionOf);
    });
  });

  it('[runtime#184a] given a server without HTTP/2, when ten minutes have passed, then its new connection is used, the idle one is closed, and the watch goes on', async () => {
    const { server, get, clock, sockets } = await setUp({ protocols: ['http/1.1'], answer: answerWatches });
    await get('/watch');
    const first = await bodyText(await get('/x'));
    await clock.advance(600_000);
    expect(await bodyText(await get('/x'))).toBe(first);
    while ((await bodyText(await get('/x'))) === first) await settle();
    await untilOpen(sockets, 2);
    expect([first, await bodyText(await get('/x'))]).toEqual(['{"connection":1}', '{"connection":2}']);
    expect([openWires(server), sockets.length]).toEqual([2, 3]);
  });

  it('given HTTP/1.1 without TLS, when ten minutes have passed, then nothing is negotiated', async () => {
    const { get, clock, sockets } = await setUp({ scheme: 'http' });
    await bodyText(await get('/x'));
    await clock.advance(600_000);
    await bodyText(await get('/x'));
    await bodyText(await get('/x'));
    expect(sockets.length).toBe(1);
  });

  it('given HTTP/1.1 and a server that then refuses connections, when it is back with HTTP/2, then HTTP/2 is used', async () => {
    const { server, get, moveTo, sockets } = await setUp({ protocols: ['http/1.1'] });
    await bodyText(await get('/x'));
    await server.close();
    await untilOpen(sockets, 0);
    expect(await rejectionOf(get('/x'))).toMatchObject({ failure: 'refused' });
    const next = await setUp({ answer: answerVersion });
    moveTo(next.server);
    expect(await bodyText(await get('/x'))).toContain('"version":"2.0"');
  });

  it('given HTTP/1.1 and a connection attempt that fails after the last connection was closed, then the next request negotiates again', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onEnd(() => new Promise((resolve) => silent.close(resolve)));
    const { server, get, moveTo, sockets, clock } = await setUp({ protocols: ['http/1.1'], answer: answerWatches });
    await get('/watch');
    moveTo({ port: (silent.address() as AddressInfo).port });
    const accepted = once(silent, 'connection') as Promise<[Socket]>;
    const failing = rejectionOf(get('/x'));
    const [peer] = await accepted;
    server.wires[0]?.reset();
    await untilOpen(sockets, 1);
    await clock.advance(10_000);
    expect(await failing).toMatchObject({ failure: 'timeout' });
    peer.destroy();
    const next = await setUp({ answer: answerVersion });
    moveTo(next.server);
    expect(await bodyText(await get('/x'))).toContain('"version":"2.0"');
  });

  it('given HTTP/1.1 and a connection that is being opened while the last one is closed, then it carries its request, and is closed with the transport', async () => {
    const slow = createServer().listen(0, '127.0.0.1');
    await once(slow, 'listening');
    onEnd(() => new Promise((resolve) => slow.close(resolve)));
    const wanted = { protocols: ['http/1.1'], answer: answerWatches } as const;
    const { server, get, moveTo, sockets, transport } = await setUp(wanted);
    await get('/watch');
    moveTo({ port: (slow.address() as AddressInfo).port });
    const accepted = once(slow, 'connection') as Promise<[Socket]>;
    const text = get('/x').then(bodyText);
    const [client] = await accepted;
    server.wires[0]?.reset();
    await untilOpen(sockets, 1);
    const upstream = connect(server.port, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    expect(await text).toBe('{"connection":1}');
    await transport.close();
    for (let turn = 0; turn < 100; turn += 1) await settle();
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });

  it('given a connection that no request needs any more, then it is closed with the transport', async () => {
    const { server, get, transport } = await setUp({ protocols: ['http/1.1'] });
    const stop = new AbortController();
    const call = rejectionOf(get('/x', stop.signal));
    stop.abort();
    expect(await call).toMatchObject({ failure: 'aborted' });
    while (openWires(server) < 1) await settle();
    // Whether the handshake is over by now or not, the end is the same.
    for (let turn = 0; turn < 200; turn += 1) await settle();
    await transport.close();
    while (openWires(server) > 0) await settle();
    expect([server.requests, server.wires.length]).toEqual([[], 1]);
  });

  it('given plain http, then requests are not encrypted, and the base path precedes every path', async () => {
    const { get } = await setUp({ scheme: 'http', basePath: '/k8s/clusters/c-1/', answer: answerVersion });
    expect(await bodyText(await get('/api'))).toContain('"url":"/k8s/clusters/c-1/api"');
  });

  it('[runtime#12] given DISABLE_HTTP2, then each watch has a connection and at most 25 idle ones are kept', async () => {
    const waiting: TestExchange[] = [];
    const { server, get } = await setUp({
      options: { http2: 'disabled' },
      answer: (exchange) => {
        if (exchange.request.url === '/watch') answerWatches(exchange);
        else waiting.push(exchange);
      },
    });
    const watches = await Promise.all(Array.from({ length: 3 }, () => get('/watch')));
    expect(watches.map(({ status }) => status)).toEqual([200, 200, 200]);
    const requests = Array.from({ length: 40 }, () => get('/x').then(bodyText));
    while (waiting.length < 40) await settle();
    for (const exchange of waiting) answerJson(exchange.response, exchange.request.httpVersion);
    expect(new Set(await Promise.all(requests))).toEqual(new Set(['"1.1"']));
    expect(server.wires.length).toBe(43);
    while (openWires(server) > 3 + 25) await settle();
    for (let turn = 0; turn < 100; turn += 1) await settle();
    expect(openWires(server)).toBe(3 + 25);
  });

  it('given an answer that breaks off, then the body fails', async () => {
    const { server, get } = await setUp({
      options: { http2: 'disabled' },
      answer: ({ response }) => {
        response.setHeader('content-length', 10);
        response.write('12345');
      },
    });
    const answer = await get('/x');
    server.wires[0]?.end();
    expect(await rejectionOf(bodyText(answer))).toMatchObject({ failure: expect.stringMatching(/^(eof|reset)$/) });
  });

  it('given a body that is ended early, whether it was read or not, then its connection is closed', async () => {
    const { server, get } = await setUp({ options: { http2: 'disabled' }, answer: answerWatches });
    for await (const _ of (await get('/watch')).body) break;
    await (await get('/watch')).body[Symbol.asyncIterator]().return?.();
    while (openWires(server) > 0) await settle();
    expect(server.wires.length).toBe(2);
  });

  it('given a kept connection that breaks, then a read was not processed and a write is in doubt', async () => {
    const { server, get, post } = await setUp({
      options: { http2: 'disabled' },
      answer: ({ request, response, connection }) => {
        if (request.url === '/break') server.wires[connection]?.reset();
        else answerJson(response, {});
      },
    });
    await bodyText(await get('/x'));
    expect(await rejectionOf(get('/break'))).toMatchObject({ failure: 'unprocessed' });
    await bodyText(await get('/x'));
    expect(await rejectionOf(post('/break', '{}'))).toMatchObject({ failure: 'reset' });
    expect(await rejectionOf(get('/break'))).toMatchObject({ failure: 'reset' });
    expect(server.requests).toHaveLength(5);
  });
});

describe('proxies', () => {
  /** A proxy that accepts tunnels and whole URLs, and records every request. */
  const startProxy = async (status = 200) => {
    const asked: unknown[] = [];
    const sockets: Socket[] = [];
    const note = (request: IncomingMessage): void => {
      asked.push([request.method, request.url, request.headers['proxy-authorization']]);
    };
    const proxy = createHttpServer((request, response) => {
      note(request);
      response.end('{"by":"proxy"}');
    });
    proxy.on('connect', (request: IncomingMessage, client: Socket) => {
      note(request);
      sockets.push(client);
      client.on('error', () => undefined);
      if (status !== 200) {
        client.end(`HTTP/1.1 ${status} Forbidden\r\n\r\n`);
        return;
      }
      const [host = '', port = ''] = (request.url ?? '').split(':');
      const upstream = connect(Number(port), host, () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(upstream).pipe(client);
      });
      upstream.on('error', () => client.destroy());
      sockets.push(upstream);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onEnd(async () => {
      for (const socket of sockets) socket.destroy();
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    });
    return { asked, url: new URL(`http://user:p%40ss@127.0.0.1:${(proxy.address() as AddressInfo).port}`) };
  };
  const credentials = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;

  it('given a proxy and https, then HTTP/2 runs through a tunnel, with the credentials of the proxy address', async () => {
    const proxy = await startProxy();
    const { server, get } = await setUp({ options: { proxy: proxy.url }, answer: answerVersion });
    expect(await bodyText(await get('/x'))).toContain('"version":"2.0"');
    expect(proxy.asked).toEqual([['CONNECT', `127.0.0.1:${server.port}`, credentials]]);
  });

  it('given a proxy and plain http, then the request to the proxy has the whole URL', async () => {
    const proxy = await startProxy();
    const { server, get } = await setUp({ scheme: 'http', options: { proxy: proxy.url } });
    expect(await bodyText(await get('/x'))).toBe('{"by":"proxy"}');
    expect(proxy.asked).toEqual([['GET', `http://127.0.0.1:${server.port}/x`, credentials]]);
  });

  it('given a proxy that refuses the tunnel, then the failure has its status', async () => {
    const proxy = await startProxy(403);
    const { get } = await setUp({ options: { proxy: proxy.url } });
    expect(await rejectionOf(get('/x'))).toMatchObject({
      failure: 'refused',
      message: 'the proxy refuses the tunnel: 403 Forbidden',
    });
  });

  it('given a proxy that does not answer, then the request fails after a minute', async () => {
    const asked = Promise.withResolvers<Socket>();
    const proxy = createHttpServer().on('connect', (_request, client: Socket) => asked.resolve(client));
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onEnd(() => new Promise((resolve) => proxy.close(resolve)));
    const url = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    const { clock, get } = await setUp({ options: { proxy: url } });
    const call = rejectionOf(get('/x'));
    const client = await asked.promise;
    await clock.advance(60_000);
    client.destroy();
    expect(await call).toMatchObject({ failure: 'timeout', message: 'the proxy does not answer to CONNECT' });
  });
});
