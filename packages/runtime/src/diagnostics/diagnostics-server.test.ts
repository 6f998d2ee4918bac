// SPDX-License-Identifier: Apache-2.0
import { get, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle } from '../../testing/index.ts';
import { systemClock } from '../clock/system-clock.ts';
import { startDiagnosticsServer, type DiagnosticsServer, type HttpRoute } from './diagnostics-server.ts';
import { parseListenAddress, toListenOptions } from './listen-address.ts';
import { profilingRoutes } from './profiling.ts';

const servers: DiagnosticsServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(routes: readonly HttpRoute[], address = '127.0.0.1:0') {
  const logger = recordingLogger();
  const server = await startDiagnosticsServer({ address, routes, logger, clock: systemClock() });
  servers.push(server);
  return { server, logger, port: server.port };
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
  it.each([
    [':8080', { port: 8080 }],
    ['0.0.0.0:8080', { host: '0.0.0.0', port: 8080 }],
    ['[::]:8080', { host: '::', port: 8080 }],
    ['[::1]:0', { host: '::1', port: 0 }],
    ['localhost:8080', { host: '127.0.0.1', port: 8080 }],
    ['127.0.0.1:9', { host: '127.0.0.1', port: 9 }],
    [':http', { port: 80 }],
    ['127.0.0.1:HTTPS', { host: '127.0.0.1', port: 443 }],
  ])('given %s, then Node.js listens on %o', async (address, options) => {
    expect(await toListenOptions(parseListenAddress(address))).toEqual(options);
  });

  it.each(['8080', 'localhost', '::8080', '[::]', 'host:port', ':constructor', ':70000', ''])(
    'given %j, then it is refused',
    (address) => {
      expect(() => parseListenAddress(address)).toThrow(`address ${address}: expected host:port`);
    },
  );

  it('given localhost, then it is reached at 127.0.0.1; given no host, at every address', async () => {
    for (const address of ['localhost:0', ':0']) {
      const { port } = await serve([{ path: '/', handler: text('here') }], address);
      expect((await ask(port, '/')).body.toString()).toBe('here');
    }
  });

  it('[runtime#171] given an address that is taken, then starting fails with the address in the message', async () => {
    const { port } = await serve([]);
    const address = `127.0.0.1:${port}`;
    await expect(serve([], address)).rejects.toThrow(`cannot listen on ${address}: listen EADDRINUSE`);
  });
});

describe('routes', () => {
  it('given exact paths and subtrees, then the longest that matches answers; anything else is 404', async () => {
    const { port } = await serve([
      { path: '/metrics', handler: text('metrics') },
      { path: '/debug/', handler: text('tree') },
      { path: '/debug/one', handler: text('one') },
    ]);
    const bodies = [];
    for (const path of ['/metrics?x=1', '/debug/one', '/debug/other', '/metrics/x', '/']) {
      const { status, body } = await ask(port, path);
      bodies.push(`${status} ${body.toString().trim()}`);
    }
    expect(bodies).toEqual(['200 metrics', '200 one', '200 tree', '404 404 page not found', '404 404 page not found']);
  });

  it('given methods other than GET and HEAD, then only routes for any method take them', async () => {
    const { port } = await serve([
      { path: '/read', handler: text('read') },
      { path: '/any', methods: 'any', handler: ({ method }) => ({ status: 200, body: method }) },
    ]);
    expect((await ask(port, '/read', { method: 'POST' })).status).toBe(405);
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

  it('given a client that accepts gzip, then a large answer is compressed and a small one is not', async () => {
    const large = 'metric 1\n'.repeat(1000);
    const { port } = await serve([
      { path: '/large', handler: text(large) },
      { path: '/small', handler: text('ok') },
    ]);
    const compressed = await ask(port, '/large', { headers: { 'accept-encoding': 'deflate, gzip;q=0.5' } });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(compressed.body).toString()).toBe(large);
    for (const [path, accepted] of [
      ['/large', 'identity'],
      ['/large', 'gzip;q=0'],
      ['/small', 'gzip'],
    ] as const) {
      const plain = await ask(port, path, { headers: { 'accept-encoding': accepted } });
      expect(plain.headers['content-encoding']).toBeUndefined();
    }
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
    expect([(await ask(port, '/sync')).status, (await ask(port, '/async')).status]).toEqual([500, 500]);
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
    const { port, server } = await serve([
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
    await server.close();
    expect([signal.aborted, await open]).toEqual([true, 'ECONNRESET']);
    await idleClosed;
    await expect(ask(port, '/slow')).rejects.toThrow('ECONNREFUSED');
  });

  it('given a client that goes away, then the handler sees it', async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const { port } = await serve([
      {
        path: '/slow',
        handler: ({ signal }) => {
          started.resolve(signal);
          return new Promise(() => undefined);
        },
      },
    ]);
    const outgoing = get({ host: '127.0.0.1', port, path: '/slow' });
    outgoing.on('error', () => undefined);
    const signal = await started.promise;
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    outgoing.destroy();
    await aborted;
  });
});

describe('profiles', () => {
  const aProfiledServer = async () => {
    const clock = new FakeClock();
    const { port } = await serve(profilingRoutes({ clock, argv: ['csi-provisioner', '--v=5'] }));
    /** A profile is being taken. */
    const begun = async (): Promise<void> => {
      while (clock.pending === 0) await settle();
    };
    const pass = async (ms: number): Promise<void> => {
      await begun();
      await clock.advance(ms);
    };
    return { port, begun, pass };
  };

  it('given a CPU profile, then it takes the seconds asked for and is one of V8', async () => {
    const { port, pass } = await aProfiledServer();
    const answer = ask(port, '/debug/pprof/profile?seconds=3');
    await pass(3000);
    const { status, headers, body } = await answer;
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(JSON.parse(body.toString())).toMatchObject({
      nodes: expect.anything() as unknown,
      startTime: expect.any(Number) as unknown,
    });
  });

  it('[runtime#170] given two profiles at once, then the second is refused, and a later one is not', async () => {
    const { port, begun, pass } = await aProfiledServer();
    const first = ask(port, '/debug/pprof/profile');
    await begun();
    const second = ask(port, '/debug/pprof/heap');
    expect((await second).status).toBe(409);
    await pass(30_000);
    expect((await first).status).toBe(200);
    const third = ask(port, '/debug/pprof/heap');
    await pass(10_000);
    expect(JSON.parse((await third).body.toString())).toMatchObject({ head: expect.anything() as unknown });
  });

  it('given the other paths, then the list, the arguments, and 404', async () => {
    const { port } = await aProfiledServer();
    expect((await ask(port, '/debug/pprof/')).body.toString()).toContain('profile?seconds=30');
    expect((await ask(port, '/debug/pprof/cmdline')).body.toString()).toBe('csi-provisioner\0--v=5');
    expect((await ask(port, '/debug/pprof/goroutine')).status).toBe(404);
    expect((await ask(port, '/debug/pprof/profile?seconds=301')).status).toBe(400);
  });
});
