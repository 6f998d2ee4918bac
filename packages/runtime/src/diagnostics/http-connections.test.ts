// SPDX-License-Identifier: Apache-2.0
/** Over loopback: what one client does to the others. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { FakeClock, recordingLogger, settle, until } from '../../testing/index.ts';
import type { Clock } from '../clock/clock.ts';
import { systemClock } from '../clock/system-clock.ts';
import { type DiagnosticsServer, type HttpRoute, startDiagnosticsServer } from './diagnostics-server.ts';
import { createHttpConnections, type HttpExchange, type HttpLimits } from './http-connections.ts';

const opened: (Pick<DiagnosticsServer, 'close'> | Socket)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const each of opened.splice(0)) await ('close' in each ? each.close() : each.destroy());
});

async function serve(routes: readonly HttpRoute[]) {
  const clock = new FakeClock();
  const server = await startDiagnosticsServer({ address: '127.0.0.1:0', routes, logger: recordingLogger(), clock });
  opened.push(server);
  return { clock, port: server.port };
}

interface Accepting extends Partial<HttpLimits> {
  readonly clock?: Clock;
}

/** Without routes, and with the server's sockets at hand. */
async function accepting(
  { clock = systemClock(), ...limits }: Accepting,
  serveOne: (exchange: HttpExchange) => Promise<void>,
) {
  const connections = createHttpConnections(
    { clock },
    { connections: 9, bytes: 1024, silenceMs: 10_000, ...limits },
    serveOne,
  );
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.push(socket);
    connections.accept(socket);
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1' }, resolve));
  opened.push({
    close: async () => {
      connections.close();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return { connections, sockets, port: (server.address() as AddressInfo).port };
}

const answer = (body: string) => ({ status: 200, headers: {}, body: Buffer.from(body) });

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await settle();
}

interface Client {
  readonly socket: Socket;
  /** The bodies of the answers so far. */
  readonly answers: () => readonly string[];
  readonly isClosed: () => boolean;
}

function open(port: number, sent = '', from = '127.0.0.1'): Client {
  let received = '';
  let isClosed = false;
  const socket = connect({ port, host: '127.0.0.1', localAddress: from }).setEncoding('latin1');
  opened.push(socket);
  socket.write(sent);
  socket.on('data', (chunk: string) => (received += chunk));
  socket.on('error', () => undefined);
  socket.on('close', () => (isClosed = true));
  return {
    socket,
    answers: () => [...received.matchAll(/\r\n\r\n(.+?)(?=HTTP|$)/g)].map(([, body]) => body!),
    isClosed: () => isClosed,
  };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

const post = (head: string, body: string): string => `POST / HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n${body}`;
const chunked = (body: string): string =>
  post('Transfer-Encoding: chunked', `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
/** Answers with the number of the run, when the test says so. */
function aSlowRoute() {
  const runs: (() => void)[] = [];
  const route: HttpRoute = {
    path: '/slow',
    handler: () =>
      new Promise((resolve) => {
        const body = `run ${runs.length + 1}`;
        runs.push(() => resolve({ status: 200, body }));
      }),
  };
  return { runs, route };
}

it('[runtime#210] given a client that sends 3,000 requests at once, then one at a time is served, and another client is answered meanwhile', async () => {
  const { runs, route } = aSlowRoute();
  const { clock, port } = await serve([route, { path: '/fast', handler: () => ({ status: 200, body: 'fast' }) }]);
  const greedy = open(port, get('/slow').repeat(3_000));
  await until(() => runs.length > 0);
  const other = open(port, get('/fast'));
  await until(() => other.answers().length === 1);
  for (let answered = 1; answered <= 12; answered += 1) {
    expect([runs.length, greedy.answers().length]).toEqual([answered, answered - 1]);
    runs[answered - 1]!();
    await until(() => greedy.answers().length === answered);
    await settle();
    // The pause after an answer.
    expect(runs).toHaveLength(answered);
    await clock.advance(100);
    await until(() => runs.length > answered);
  }
  expect(greedy.answers()).toEqual(Array.from({ length: 12 }, (_, index) => `run ${index + 1}`));
});

it('[runtime#210] given a client that waits for each answer, then its next request waits for no pause', async () => {
  const { port } = await serve([{ path: '/fast', handler: () => ({ status: 200, body: 'fast' }) }]);
  const client = open(port);
  for (let answered = 1; answered <= 3; answered += 1) {
    client.socket.write(get('/fast'));
    await until(() => client.answers().length === answered);
  }
});

it('[runtime#210] given a client that ends its connection while its request runs, then the handler sees it', async () => {
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
  const client = open(port, get('/slow'));
  const signal = await started.promise;
  client.socket.end();
  await until(() => signal.aborted);
});

it('[runtime#210] given 64 KiB of requests, exactly what a socket keeps, while one is served, then timers run and others are answered', async () => {
  const { runs, route } = aSlowRoute();
  const { clock, port } = await serve([route, { path: '/fast', handler: () => ({ status: 200, body: 'fast' }) }]);
  const bytes = get('/slow').repeat(4_000);
  const greedy = open(port, bytes.slice(0, 256 + 64 * 1024));
  await until(() => runs.length > 0);
  greedy.socket.write(bytes);
  const other = open(port, get('/fast'));
  await until(() => other.answers().length === 1);
  runs[0]!();
  await until(() => greedy.answers().length === 1);
  await until(async () => {
    await clock.advance(100);
    return runs.length === 2;
  });
});

it('[runtime#210] given a client that sends two requests and ends its side, then the connection is closed', async () => {
  const { port } = await serve([{ path: '/fast', handler: () => ({ status: 200, body: 'fast' }) }]);
  const client = open(port);
  client.socket.end(get('/fast') + get('/fast'));
  await until(() => client.isClosed());
});

it('[runtime#212] given a client with 64 silent connections and one that is silent for longer, when two others connect, then they are answered, and three of the 64 are closed', async () => {
  const { port } = await serve([{ path: '/fast', handler: () => ({ status: 200, body: 'fast' }) }]);
  const silentForLonger = open(port, 'GET /half', '127.0.0.4');
  await until(() => !silentForLonger.socket.connecting);
  const silent = Array.from({ length: 64 }, () => open(port, 'GET /half'));
  await until(() => silent.every(({ socket }) => !socket.connecting));
  const others = [open(port, get('/fast'), '127.0.0.2'), open(port, get('/fast'), '127.0.0.3')];
  await until(() => others.every((each) => each.answers().length === 1));
  await until(() => silent.filter((each) => each.isClosed()).length === 3);
  expect([silentForLonger, ...others].map((each) => each.isClosed())).toEqual([false, false, false]);
});

it('[runtime#213] given three clients of which none reads its large answer, then only the last keeps it, and another client is answered', async () => {
  let runs = 0;
  const page: HttpRoute = {
    path: '/page',
    handler: () => {
      runs += 1;
      // More than the kernel takes for one connection.
      return { status: 200, body: Buffer.alloc(24 * 1024 * 1024) };
    },
  };
  const { port } = await serve([page, { path: '/fast', handler: () => ({ status: 200, body: 'fast' }) }]);
  const deaf: Client[] = [];
  for (let count = 1; count <= 3; count += 1) {
    const client = open(port, get('/page'));
    client.socket.pause();
    deaf.push(client);
    await until(() => runs === count);
  }
  const other = open(port, get('/fast'));
  await until(() => other.answers().length === 1);
  for (const { socket } of deaf) socket.resume();
  await until(() => deaf.filter((each) => each.isClosed()).length === 2);
  expect(deaf.map((each) => each.isClosed())).toEqual([true, true, false]);
});

it('[runtime#213] given clients that are silent, send half a request, or read nothing of a large answer, then their connections are closed, and one whose request is served is not', async () => {
  const held = Promise.withResolvers<void>();
  const { port } = await accepting({ silenceMs: 50 }, async ({ request, send }) => {
    if (request.url === '/held') await held.promise;
    send({ status: 200, headers: {}, body: Buffer.alloc(request.url === '/large' ? 24 * 1024 * 1024 : 2, 'a') });
  });
  const served = open(port, get('/held'));
  const deaf = open(port, get('/large'));
  deaf.socket.pause();
  const others = [open(port), open(port, 'GET /half'), open(port, get('/fast'))];
  await until(() => others.every((each) => each.isClosed()), 5_000);
  deaf.socket.resume();
  await until(() => deaf.isClosed(), 5_000);
  expect(served.isClosed()).toBe(false);
  held.resolve();
  await until(() => served.answers().length === 1);
});

it('[runtime#210] given a request with an unknown expectation, then it is served as any other', async () => {
  const { port } = await accepting({}, async ({ send }) => send(answer('served')));
  const client = open(port, 'GET / HTTP/1.1\r\nHost: a\r\nExpect: wonders\r\n\r\n');
  await until(() => client.answers().length > 0);
  expect(client.answers()).toEqual(['served']);
});

it('[runtime#210] given two requests in one packet, then there is a pause before the second, which is not served when the client is gone by then', async () => {
  const clock = new FakeClock();
  let served = 0;
  const { port, sockets } = await accepting({ clock }, async ({ send }) => {
    served += 1;
    send(answer('served'));
  });
  const client = open(port, get('/').repeat(2));
  await until(() => client.answers().length === 1);
  await turns();
  expect(served).toBe(1);
  client.socket.destroy();
  await until(() => sockets[0]?.closed === true);
  await clock.advance(100);
  await turns();
  expect(served).toBe(1);
});

it('[runtime#210] given a handler that ends after the client has its answer, then the next request is served', async () => {
  const { port } = await accepting({}, async ({ send, response }) => {
    const closed = once(response, 'close');
    send(answer('served'));
    await closed;
  });
  const client = open(port);
  for (const count of [1, 2]) {
    client.socket.write(get('/'));
    await until(() => client.answers().length === count);
  }
});

it('[runtime#212a] given a client whose connections are all served, when it opens more, then they are not read, ten are closed at once and the others 20 in a second, and another client is answered', async () => {
  const clock = new FakeClock();
  const { port, sockets, connections } = await accepting({ clock, connections: 2 }, async ({ request, send }) => {
    if (request.url === '/fast') send(answer('fast'));
    else await new Promise(() => undefined);
  });
  const served = [open(port, get('/slow')), open(port, get('/slow'))];
  await until(() => sockets.length === 2);
  await turns();
  const more = Array.from({ length: 14 }, () => open(port, get('/slow')));
  const closed = (): number => more.filter((each) => each.isClosed()).length;
  await until(() => sockets.length === 16 && closed() === 10);
  await clock.advance(50);
  await until(() => closed() === 11);
  const unread = sockets.slice(2).filter(({ destroyed }) => !destroyed);
  expect(unread.map(({ bytesRead }) => bytesRead)).toEqual([0, 0, 0]);
  const other = open(port, get('/fast'), '127.0.0.2');
  await until(() => other.answers().length === 1);
  expect(served.filter((each) => each.isClosed())).toHaveLength(1);
  unread[0]!.destroy(new Error('the client is gone'));
  connections.close();
  await until(() => closed() === 14);
  await until(() => clock.pending === 0);
});

it('[runtime#212a] given 256 connections that wait for their end, then the next is closed at once', async () => {
  const { port, sockets } = await accepting({ clock: new FakeClock(), connections: 0 }, async () => undefined);
  const all: Client[] = [];
  for (const count of [10 + 256, 1]) {
    all.push(...Array.from({ length: count }, () => open(port)));
    await until(() => sockets.length === all.length);
  }
  await until(() => all.filter((each) => each.isClosed()).length === 11);
  expect(all.at(-1)!.isClosed()).toBe(true);
});

it('[runtime#212] given a client that came and went, then its connection counts no more, and is forgotten', async () => {
  const { port, sockets, connections } = await accepting({ connections: 2 }, async ({ send }) =>
    send(answer('served')),
  );
  const gone = open(port, get('/'), '127.0.0.2');
  await until(() => gone.answers().length === 1);
  gone.socket.end();
  await until(() => sockets[0]?.closed === true);
  const kept = [open(port), open(port)];
  for (const count of [1, 2]) {
    for (const { socket } of kept) socket.write(get('/'));
    await until(() => kept.every(({ answers }) => answers().length === count));
  }
  const destroy = vi.spyOn(Duplex.prototype, 'destroy');
  connections.close();
  expect(destroy.mock.contexts.filter((each) => !(each instanceof Socket))).toHaveLength(2);
});

it('[runtime#212] given a body that has been read, then its client is served and not waited for: another connection is closed first, and its silence is allowed', async () => {
  const bodies: (Buffer | 'too large')[] = [];
  const { port, sockets } = await accepting({ connections: 2 }, async ({ body }) => {
    bodies.push(await body(100));
    await new Promise(() => undefined);
  });
  open(port, post('Content-Length: 4', 'body'));
  await until(() => bodies.length === 1);
  await turns();
  expect(sockets[0]?.timeout).toBe(0);
  for (const count of [2, 3]) {
    open(port);
    await until(() => sockets.length === count);
  }
  await until(() => sockets.some(({ destroyed }) => destroyed));
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
});

it('[runtime#213] given a second request that is read after the first is answered, then its silence is allowed while it is served', async () => {
  const clock = new FakeClock();
  const paths: unknown[] = [];
  const { port, sockets } = await accepting({ clock }, async ({ request, send }) => {
    paths.push(request.url);
    if (request.url === '/first') send(answer('served'));
    else await new Promise(() => undefined);
  });
  const client = open(port, `${get('/first')}GET /second HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(400)}\r\n\r\n`);
  await until(() => client.answers().length === 1);
  await until(() => clock.pending === 1);
  await clock.advance(100);
  await until(() => paths.length === 2);
  await turns();
  expect([paths, sockets[0]?.timeout]).toEqual([['/first', '/second'], 0]);
});

it('[runtime#213] given a client that has its answer and whose next request is not begun yet, then the answer is not counted as one in memory', async () => {
  const clock = new FakeClock();
  const { port, sockets } = await accepting({ clock, bytes: 10 }, async ({ send }) => send(answer('a'.repeat(20))));
  const client = open(port);
  await until(() => sockets.length === 1);
  // Else the answer is gone before anything waits for the client.
  const write = sockets[0]!.write.bind(sockets[0]) as (chunk: Buffer, done: () => void) => boolean;
  sockets[0]!.write = ((chunk: Buffer, done: () => void) => setImmediate(() => write(chunk, done))) as never;
  client.socket.write(get('/').repeat(2));
  await until(() => client.answers().length === 1 && clock.pending === 1);
  const other = open(port, get('/'));
  await until(() => other.answers().length === 1);
  await clock.advance(100);
  await until(() => client.answers().length === 2);
});

it('[runtime#213] given half a body in memory, when the answer to another client exceeds the limit together with it, then its connection is closed', async () => {
  const { port, sockets } = await accepting({ bytes: 50 }, async ({ request, body, send }) => {
    await body(100);
    send(answer(request.method === 'GET' ? 'a'.repeat(70) : 'late'));
  });
  const sent = post('Content-Length: 100', 'a'.repeat(60));
  open(port, sent);
  await until(() => sockets[0]?.bytesRead === sent.length);
  await turns();
  const other = open(port, get('/'));
  await until(() => sockets[0]?.destroyed === true);
  await until(() => other.answers().length === 1);
});

it.each([
  { given: 'a declared body of the size that is allowed', sent: post('Content-Length: 5', 'small'), read: 'small' },
  { given: 'a chunked body of the size that is allowed', sent: chunked('small'), read: 'small' },
  { given: 'a declared body that is longer', sent: post('Content-Length: 6', 'larger'), read: 'too large' },
  { given: 'a chunked body that is longer', sent: chunked('larger'), read: 'too large' },
])('[runtime#213] given $given, then the handler gets: $read', async ({ sent, read }) => {
  const { port } = await accepting({}, async ({ request, body, send }) => {
    const got = String(await body(5));
    if (!request.socket.destroyed) send(answer(got));
  });
  const client = open(port, sent);
  await until(() => client.answers().length === 1);
  expect(client.answers()).toEqual([read]);
  if (read === 'too large') return await until(() => client.isClosed());
  client.socket.write(sent);
  await until(() => client.answers().length === 2);
});

it('[runtime#213] given a request without a body, then it is not too large where none is allowed', async () => {
  const { port } = await accepting({}, async ({ body, send }) => send(answer(`read: ${String(await body(0))}`)));
  const client = open(port, get('/'));
  await until(() => client.answers().length === 1);
  expect(client.answers()).toEqual(['read: ']);
});

it.each([
  { given: 'a chunked body that is too large', sent: chunked('a'.repeat(5_000)) },
  {
    given: 'a body, and a request behind it',
    sent: `${post('Content-Length: 300', 'a'.repeat(300))}GET / HTTP/1.1\r\nX: ${'x'.repeat(5_000)}`,
  },
])('[runtime#213] given $given, then while its answer is made no more is read', async ({ sent }) => {
  let isRead = false;
  const { port, sockets } = await accepting({}, async ({ body }) => {
    await body(600);
    isRead = true;
    await new Promise(() => undefined);
  });
  open(port, sent);
  await until(() => isRead);
  await turns();
  expect(sockets[0]?.readableLength).toBeGreaterThan(3_000);
});
