// SPDX-License-Identifier: Apache-2.0
/** Over loopback: what one client does to the others. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { FakeClock, recordingLogger, settle, until } from '../../testing/index.ts';
import { systemClock } from '../clock/system-clock.ts';
import { type DiagnosticsServer, type HttpRoute, startDiagnosticsServer } from './diagnostics-server.ts';
import { createHttpConnections } from './http-connections.ts';

const opened: (DiagnosticsServer | Socket)[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await ('close' in each ? each.close() : each.destroy());
});

async function serve(routes: readonly HttpRoute[]) {
  const clock = new FakeClock();
  const server = await startDiagnosticsServer({ address: '127.0.0.1:0', routes, logger: recordingLogger(), clock });
  opened.push(server);
  return { clock, port: server.port };
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

it('[runtime#212] given a client with 64 silent connections, when two others connect, then they are answered, and two of the 64 are closed', async () => {
  const { port } = await serve([{ path: '/fast', handler: () => ({ status: 200, body: 'fast' }) }]);
  const silent = Array.from({ length: 64 }, () => open(port, 'GET /half'));
  await until(() => silent.every(({ socket }) => !socket.connecting));
  const others = [open(port, get('/fast'), '127.0.0.2'), open(port, get('/fast'), '127.0.0.3')];
  await until(() => others.every((each) => each.answers().length === 1));
  await until(() => silent.filter((each) => each.isClosed()).length === 2);
  expect(others.map((each) => each.isClosed())).toEqual([false, false]);
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
  const limits = { connections: 9, bytes: 1024, silenceMs: 50 };
  const connections = createHttpConnections({ clock: systemClock() }, limits, async ({ request, send }) => {
    if (request.url === '/held') await held.promise;
    send({ status: 200, headers: {}, body: Buffer.alloc(request.url === '/large' ? 24 * 1024 * 1024 : 2, 'a') });
  });
  const server = createServer({ allowHalfOpen: true }, connections.accept);
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1' }, resolve));
  const { port } = server.address() as AddressInfo;
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
  connections.close();
  await new Promise((resolve) => server.close(resolve));
});
