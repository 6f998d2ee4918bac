// SPDX-License-Identifier: Apache-2.0
import { get, request as httpRequest, type IncomingMessage, ServerResponse } from 'node:http';
import inspector from 'node:inspector/promises';
import { connect, Server, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FakeClock, recordingLogger, settle, until } from '../../testing/index.ts';
import { systemClock } from '../clock/system-clock.ts';
import { startDiagnosticsServer, type DiagnosticsServer, type HttpRoute } from './diagnostics-server.ts';
import { profilingRoutes } from './profiling.ts';

const servers: DiagnosticsServer[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(routes: readonly HttpRoute[], address = '127.0.0.1:0') {
  const logger = recordingLogger();
  const server = await startDiagnosticsServer({ address, routes, logger, clock: systemClock() });
  servers.push(server);
  return { server, logger, port: server.port };
}

/** With the server of node:net and its connections, of which none gets what is written to it. */
async function serveUnread(routes: readonly HttpRoute[]) {
  const listen = vi.spyOn(Server.prototype, 'listen');
  const served = await serve(routes);
  const netServer = listen.mock.contexts[0] as Server;
  listen.mockRestore();
  const sockets: Socket[] = [];
  netServer.on('connection', (socket: Socket) => {
    socket.write = () => true;
    sockets.push(socket);
  });
  return { ...served, netServer, sockets };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await settle();
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

function ask(
  port: number,
  path: string,
  options: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ host: '127.0.0.1', port, path, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** Sends these bytes and returns the status of the answer, or `closed` when the server ended the connection without one. */
function rawStatus(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes, 'latin1'));
    socket.setEncoding('latin1').on('data', (chunk: string) => (received += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(/^HTTP\/1\.1 (\d+) /.exec(received)?.[1] ?? 'closed'));
  });
}

const text =
  (body: string): HttpRoute['handler'] =>
  () => ({ status: 200, body });

describe('listen addresses', () => {
  it('given localhost, then it is reached at 127.0.0.1; given no host, at every address', async () => {
    for (const address of ['localhost:0', ':0']) {
      const { port } = await serve([{ path: '/', handler: text('here') }], address);
      expect((await ask(port, '/')).body.toString()).toBe('here');
    }
  });

  it('[runtime#171] given an address that is taken, then starting fails with the address in the message, and nothing is logged', async () => {
    const { port } = await serve([]);
    const address = `127.0.0.1:${port}`;
    const logger = recordingLogger();
    const starting = startDiagnosticsServer({ address, routes: [], logger, clock: systemClock() });
    await expect(starting).rejects.toMatchObject({
      message: expect.stringContaining(`cannot listen on ${address}: listen EADDRINUSE`) as unknown,
      cause: { code: 'EADDRINUSE' },
    });
    expect(logger.lines).toEqual([]);
  });
});

describe('routes', () => {
  it('given exact paths and subtrees, then the longest that matches answers; anything else is 404, and no URL 400', async () => {
    const { port } = await serve([
      { path: '/metrics', handler: text('metrics') },
      { path: '/debug/', handler: text('tree') },
      { path: '/debug/one', handler: text('one') },
      { path: '/debug/sub/', handler: text('subtree') },
      { path: '/a/b/', handler: text('longer') },
      { path: '/a/', handler: text('shorter') },
    ]);
    const bodies = [];
    for (const path of [
      '/metrics?x=1',
      '/debug/one',
      '/debug/other',
      '/debug/sub/x',
      '/a/b/c',
      '/metrics/x',
      '/',
      '//x',
    ]) {
      const { status, body } = await ask(port, path);
      bodies.push(`${status} ${body.toString().trim()}`);
    }
    expect(bodies).toEqual([
      '200 metrics',
      '200 one',
      '200 tree',
      '200 subtree',
      '200 longer',
      '404 404 page not found',
      '404 404 page not found',
      '400 400 Bad Request',
    ]);
  });

  it('given methods other than GET and HEAD, then only routes for any method take them', async () => {
    const { port } = await serve([
      { path: '/read', handler: text('read') },
      { path: '/any', methods: 'any', handler: ({ method }) => ({ status: 200, body: method }) },
    ]);
    const refused = await ask(port, '/read', { method: 'POST' });
    expect([refused.status, refused.headers.allow, refused.body.toString()]).toEqual([
      405,
      'GET, HEAD',
      'Method Not Allowed\n',
    ]);
    expect((await ask(port, '/any', { method: 'POST' })).body.toString()).toBe('POST');
    const head = await ask(port, '/read', { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '4', 0]);
  });

  it('given a route added later, then it answers from then on', async () => {
    const { port, server } = await serve([]);
    expect((await ask(port, '/healthz/leader-election')).status).toBe(404);
    server.add({ path: '/healthz/leader-election', handler: text('ok') });
    expect((await ask(port, '/healthz/leader-election')).status).toBe(200);
  });

  it('given a client that accepts gzip, then an answer from 1,024 bytes on is compressed, and its header Vary names the encoding', async () => {
    const large = `${'metric 1\n'.repeat(113)}metric\n`;
    const { port } = await serve([
      { path: '/large', handler: () => ({ status: 200, headers: { 'x-page': 'large' }, body: large }) },
      { path: '/small', handler: text(large.slice(1)) },
    ]);
    const compressed = await ask(port, '/large', { headers: { 'accept-encoding': 'deflate, gzip;q=0.5' } });
    expect(compressed.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-encoding': 'gzip',
      vary: 'accept-encoding',
      'x-page': 'large',
    });
    expect([gunzipSync(compressed.body).toString(), large.length]).toEqual([large, 1024]);
    for (const [path, accepted] of [
      ['/large', 'identity'],
      ['/large', 'gzip;q=0'],
      ['/small', 'gzip'],
    ] as const) {
      const plain = await ask(port, path, { headers: { 'accept-encoding': accepted } });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(plain.headers['content-type']).toBe('text/plain; charset=utf-8');
    }
  });

  it.each([
    ['a text', 'caf\u00e9'],
    ['bytes', Buffer.from('caf\u00e9')],
  ])('given an answer that is %s, then its length is that of its bytes', async (_, body) => {
    const { port } = await serve([{ path: '/', handler: () => ({ status: 200, body }) }]);
    const answer = await ask(port, '/');
    expect([answer.headers['content-length'], answer.body.toString()]).toEqual(['5', 'caf\u00e9']);
  });

  it('given a handler that throws, at once or later, then 500, a log line, and the server goes on', async () => {
    const { port, logger } = await serve([
      {
        path: '/sync',
        handler: () => {
          throw new Error('sync');
        },
      },
      { path: '/async', handler: () => Promise.reject(new Error('async')) },
      { path: '/fine', handler: text('fine') },
    ]);
    for (const path of ['/sync', '/async']) {
      const { status, body } = await ask(port, path);
      expect([status, body.toString()]).toEqual([500, 'internal server error\n']);
    }
    expect((await ask(port, '/fine')).body.toString()).toBe('fine');
    expect(logger.messages()).toEqual(['HTTP handler failed', 'HTTP handler failed']);
  });

  it('given a handler that throws, then the log has the method and the path of the request, and neither its query nor its credentials', async () => {
    const { port, logger } = await serve([{ path: '/', handler: () => Promise.reject(new Error('broken')) }]);
    await ask(port, '/a/b?token=hidden');
    await ask(port, 'http://user:hidden@host/c?token=hidden', { method: 'HEAD' });
    expect(logger.lines.map(({ facts }) => facts)).toEqual([
      { method: 'GET', path: '/a/b' },
      { method: 'HEAD', path: '/c' },
    ]);
    expect(JSON.stringify(logger.lines)).not.toContain('hidden');
  });

  it('[runtime#169] given a loop that is blocked, then a scrape comes late but is right, and scrapes may overlap', async () => {
    let value = 0;
    const { port } = await serve([{ path: '/metrics', handler: () => ({ status: 200, body: `value ${value}\n` }) }]);
    const scrapes = [ask(port, '/metrics'), ask(port, '/metrics')];
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    value = 1;
    expect((await Promise.all(scrapes)).map(({ body }) => body.toString())).toEqual(['value 1\n', 'value 1\n']);
  });

  it.each(['//', '//%00', '//metrics', '///', '\\\\', 'http://[', 'http://:0:0/'])(
    '[runtime#180] given the request target %s, then 400, no log line, and the server goes on',
    async (target) => {
      const { port, logger } = await serve([{ path: '/metrics', handler: text('fine') }]);
      expect(await rawStatus(port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)).toBe('400');
      expect((await ask(port, '/metrics')).body.toString()).toBe('fine');
      expect(logger.messages()).toEqual([]);
    },
  );

  it('[runtime#180] given any request target, method and header, then the request is answered and the server goes on', async () => {
    const { port, logger } = await serve([
      { path: '/', methods: 'any', handler: ({ path, query }) => ({ status: 200, body: path + String(query) }) },
    ]);
    const characters = [
      ...Array.from('/\\%[]@:?#&=;.*+~^|<>{}"\'`!$0azAZ'),
      '%00',
      '%ff',
      '..',
      '//',
      'http://',
      '\u0001',
      '\u00e9',
    ];
    const targets = fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 12 });
    const methods = fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE', 'CONNECT', 'PROPFIND', 'nonsense');
    const names = fc.constantFrom(
      'host',
      'accept-encoding',
      'expect',
      'upgrade',
      'connection',
      'content-length',
      'te',
      '',
    );
    const values = fc.array(fc.constantFrom(...characters, 'gzip;q=', 'close', '-1', ','), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(targets, methods, fc.tuple(names, values), async (target, method, [name, value]) => {
        const head = `${method} /${target.join('')} HTTP/1.1`;
        const status = await rawStatus(
          port,
          `${head}\r\n${name}: ${value.join('')}\r\nhost: x\r\nconnection: close\r\n\r\n`,
        );
        // A CONNECT that the server does not serve is answered by closing the connection.
        expect(status).toMatch(/^[245]\d\d$|^closed$/);
        if (status === 'closed') expect(method).toBe('CONNECT');
      }),
      { seed: 180, numRuns: 500 },
    );
    expect((await ask(port, '/')).status).toBe(200);
    expect(logger.messages()).toEqual([]);
  });

  it('[runtime#180] given a logger that throws while a handler fails, then the connection ends and the server goes on', async () => {
    const routes: readonly HttpRoute[] = [
      { path: '/broken', handler: () => Promise.reject(new Error('broken')) },
      { path: '/fine', handler: text('fine') },
    ];
    const logger = {
      ...recordingLogger(),
      error: () => {
        throw new Error('no log');
      },
    };
    const server = await startDiagnosticsServer({ address: '127.0.0.1:0', routes, logger, clock: systemClock() });
    servers.push(server);
    expect((await ask(server.port, '/broken').catch((error: NodeJS.ErrnoException) => error.code)) as unknown).toBe(
      'ECONNRESET',
    );
    expect((await ask(server.port, '/fine')).status).toBe(200);
  });

  it('[runtime#180] given answers whose heads cannot be written, then their connections end and the server goes on', async () => {
    const { port } = await serve([{ path: '/', handler: text('fine') }]);
    const writeHead = vi.spyOn(ServerResponse.prototype, 'writeHead').mockImplementation(() => {
      throw new Error('no head');
    });
    await expect(ask(port, '/')).rejects.toThrow();
    writeHead.mockRestore();
    expect((await ask(port, '/')).status).toBe(200);
  });

  it('given a request that is no HTTP, then the server goes on', async () => {
    const { port } = await serve([{ path: '/', handler: text('fine') }]);
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.end('nonsense\r\n\r\n'));
      socket.on('close', () => resolve()).resume();
    });
    expect((await ask(port, '/')).status).toBe(200);
  });
});

describe('closing', () => {
  it('[runtime#179] given open requests and idle connections, when closed, then handlers see it, sockets end, and nothing is left', async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const listen = vi.spyOn(Server.prototype, 'listen');
    const { port, server, logger } = await serve([
      {
        path: '/slow',
        handler: ({ signal }) =>
          new Promise((_, reject) => {
            started.resolve(signal);
            signal.addEventListener('abort', () => reject(signal.reason as Error));
          }),
      },
    ]);
    const open = ask(port, '/slow').catch((error: NodeJS.ErrnoException) => error.code);
    const idle = connect(port, '127.0.0.1');
    const idleClosed = new Promise((resolve) => idle.on('close', resolve));
    const signal = await started.promise;
    let isClosed = false;
    (listen.mock.contexts[0] as Server).once('close', () => {
      isClosed = true;
    });
    await server.close();
    expect([isClosed, signal.aborted, await open]).toEqual([true, true, 'ECONNRESET']);
    expect(logger.messages()).toEqual([]);
    await idleClosed;
    await expect(ask(port, '/slow')).rejects.toThrow('ECONNREFUSED');
  });

  it('given a client that goes away, then the handler sees it, and nothing is made of an answer that comes afterwards', async () => {
    const started = Promise.withResolvers<AbortSignal>();
    let isRead = false;
    const late = {
      status: 200,
      get body() {
        isRead = true;
        return 'late';
      },
    };
    const { port, logger } = await serve([
      {
        path: '/slow',
        handler: ({ signal }) => {
          started.resolve(signal);
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve(late)));
        },
      },
    ]);
    const outgoing = get({ host: '127.0.0.1', port, path: '/slow' });
    outgoing.on('error', () => undefined);
    const signal = await started.promise;
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    outgoing.destroy();
    await aborted;
    await turns();
    expect([signal.reason, isRead, logger.lines]).toEqual([new Error('the request has ended'), false, []]);
  });
});

describe('limits', () => {
  const mib = 1024 * 1024;

  it('[runtime#213] given unread answers, then those up to 8 MiB beside the largest are kept, and for one byte more the oldest is dropped', async () => {
    const { port, sockets } = await serveUnread([
      { path: '/', handler: ({ query }) => ({ status: 200, body: Buffer.alloc(Number(query.get('bytes'))) }) },
    ]);
    for (const bytes of [8 * mib, 8 * mib, 1]) {
      expect(sockets.map(({ destroyed }) => destroyed)).toEqual(sockets.map(() => false));
      const count = sockets.length + 1;
      ask(port, `/?bytes=${bytes}`).catch(() => undefined);
      await until(() => sockets.length === count);
      await turns();
    }
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
  });

  const bytes = Buffer.alloc(9 * mib);
  const page = { status: 200, body: 'a'.repeat(9 * mib) };
  it.each([
    ['the same bytes in answers of their own', () => ({ status: 200, body: bytes })],
    ['one answer with a text', () => page],
  ])('[runtime#213] given three clients that get %s, then it is in memory once', async (_, handler) => {
    const { port, sockets } = await serveUnread([{ path: '/', handler }]);
    for (const count of [1, 2, 3]) {
      ask(port, '/').catch(() => undefined);
      await until(() => sockets.length === count);
      await turns();
    }
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });

  it('[runtime#213] given a new connection, then it is closed after 10 seconds of silence', async () => {
    const { port, sockets } = await serveUnread([]);
    const client = connect(port, '127.0.0.1');
    await until(() => sockets.length === 1);
    expect(sockets[0]?.timeout).toBe(10_000);
    client.destroy();
  });

  it('given a new connection, then what is written to it does not wait for more', async () => {
    const { port, sockets } = await serveUnread([]);
    const client = connect(port, '127.0.0.1');
    await until(() => sockets.length === 1);
    const { _handle: handle } = client as unknown as { readonly _handle: object };
    const handles = Object.getPrototypeOf(handle) as { setNoDelay(isOn: boolean): void };
    const setNoDelay = vi.spyOn(handles, 'setNoDelay');
    const other = connect(port, '127.0.0.1');
    await until(() => sockets.length === 2);
    expect(setNoDelay.mock.calls).toEqual([[true]]);
    for (const each of [client, other]) each.destroy();
  });

  it('given a connection that the system does not hand over, then that is logged, and the server goes on', async () => {
    const { port, netServer, logger, sockets } = await serveUnread([]);
    const error = new Error('accept EMFILE');
    netServer.emit('error', error);
    expect(logger.lines).toEqual([
      { kind: 'error', error, message: 'HTTP server failed', facts: { address: '127.0.0.1:0' } },
    ]);
    const client = connect(port, '127.0.0.1');
    await until(() => sockets.length === 1);
    client.destroy();
  });
});

describe('profiles', () => {
  const aProfiledServer = async () => {
    const clock = new FakeClock();
    const { port } = await serve(profilingRoutes({ clock, argv: ['csi-provisioner', '--v=5'] }));
    /** A profile is being taken. */
    const begun = () => until(() => clock.pending > 0);
    const pass = async (ms: number): Promise<void> => {
      await begun();
      await clock.advance(ms);
    };
    const profile = (path: string) => {
      const answer = ask(port, `/debug/pprof/${path}`);
      // A test that fails does not wait for it.
      answer.catch(() => undefined);
      return answer;
    };
    return { port, profile, begun, pass, clock };
  };

  it.each([
    ['profile', 'cpu.cpuprofile', { nodes: expect.anything() as unknown, startTime: expect.any(Number) as unknown }],
    ['heap', 'heap.heapprofile', { head: expect.anything() as unknown }],
  ])('given the path %s, then the answer is a profile of V8 in the file %s', async (path, fileName, content) => {
    const { profile, pass } = await aProfiledServer();
    const answer = profile(`${path}?seconds=3`);
    await pass(3000);
    const { status, headers, body } = await answer;
    expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      'application/json',
      `attachment; filename="${fileName}"`,
    ]);
    expect(JSON.parse(body.toString())).toMatchObject(content);
  });

  it.each([
    ['profile', 30_000],
    ['heap', 10_000],
    ['heap?seconds=0.5', 500],
    ['heap?seconds=1', 1_000],
    ['heap?seconds=300', 300_000],
    ['heap?seconds=0', 10_000],
    ['heap?seconds=-1', 10_000],
    ['heap?seconds=x', 10_000],
  ])('given the path %s, then a profile takes %d ms', async (path, ms) => {
    const { profile, pass, clock } = await aProfiledServer();
    const answer = profile(path);
    await pass(ms - 1);
    expect(clock.pending).toBe(1);
    await pass(1);
    expect(clock.pending).toBe(0);
    expect((await answer).status).toBe(200);
  });

  it('[runtime#170] given a profile that V8 does not begin, then 500, and its session ends, so that a later one is taken', async () => {
    const { profile, pass } = await aProfiledServer();
    const disconnect = vi.spyOn(inspector.Session.prototype, 'disconnect');
    const post = vi.spyOn(inspector.Session.prototype, 'post').mockRejectedValue(new Error('no profile'));
    expect((await profile('heap')).status).toBe(500);
    expect(disconnect).toHaveBeenCalledTimes(1);
    post.mockRestore();
    const later = profile('heap');
    await pass(10_000);
    expect((await later).status).toBe(200);
  });

  it('[runtime#170] given two profiles at once, then the second is refused, and a later one is not', async () => {
    const { profile, begun, pass } = await aProfiledServer();
    const first = profile('profile');
    await begun();
    const second = profile('heap');
    expect([(await second).status, (await second).body.toString()]).toEqual([409, 'another profile is being taken\n']);
    await pass(30_000);
    expect((await first).status).toBe(200);
    const third = profile('heap');
    await pass(10_000);
    expect(JSON.parse((await third).body.toString())).toMatchObject({ head: expect.anything() as unknown });
  });

  it('given the other paths, then the list, the arguments, and 404', async () => {
    const { port } = await aProfiledServer();
    const answers = [];
    for (const path of ['', 'cmdline', 'goroutine', 'profile?seconds=301']) {
      const { status, body } = await ask(port, `/debug/pprof/${path}`);
      answers.push([status, body.toString()]);
    }
    expect(answers).toEqual([
      [200, 'cmdline\nprofile?seconds=30\nheap?seconds=10\n'],
      [200, 'csi-provisioner\0--v=5'],
      [404, 'Unknown profile\n'],
      [400, 'seconds must be at most 300\n'],
    ]);
  });
});
