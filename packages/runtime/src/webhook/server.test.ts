// SPDX-License-Identifier: Apache-2.0
/** Over TLS on loopback. The limits of connections and bodies are those of snapshot-conversion-webhook, whose tests have them. */
import { request } from 'node:https';
import { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, expect, it, vi } from 'vitest';
import {
  createTestAuthority,
  FakeClock,
  recordingLogger,
  recordingMetrics,
  settle,
  until,
} from '../../testing/index.ts';
import { createReviewCounter } from './review-metrics.ts';
import { defaultLimits, startWebhookServer, type WebhookLimits } from './server.ts';
import type { ReviewAnswer, ReviewPorts, Webhook } from './webhook.ts';

afterEach(() => vi.restoreAllMocks());

const authority = createTestAuthority();
const pair = authority.issue({ commonName: 'webhooks', hosts: ['localhost'] });
const ok: ReviewAnswer = { status: 200, contentType: 'text/plain', body: 'reviewed' };

/** Its reviews wait until they are answered. */
function aWebhook(path = '/review') {
  const running: { readonly ports: ReviewPorts; readonly answer: (answer: ReviewAnswer) => void }[] = [];
  const webhook: Webhook = {
    path,
    admission: undefined,
    maxBodyBytes: () => 100,
    answer: (_, ports) => {
      const { promise, resolve } = Promise.withResolvers<ReviewAnswer>();
      running.push({ ports, answer: resolve });
      return promise;
    },
  };
  return { running, webhook };
}

async function serving(limits: Partial<WebhookLimits> = {}, more: readonly Webhook[] = []) {
  const { running, webhook } = aWebhook();
  const clock = new FakeClock();
  const log = recordingLogger();
  const metrics = recordingMetrics();
  const countReview = createReviewCounter(clock, metrics, [webhook.path]);
  const server = await startWebhookServer(
    { log, clock, countReview },
    { webhooks: [webhook, ...more], listen: { port: 0 }, pair, limits: { ...defaultLimits, ...limits } },
  );
  return {
    clock,
    log,
    metrics,
    running,
    port: server.port,
    stop: () => server[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => {
      for (const { answer } of running) answer(ok);
      return server[Symbol.asyncDispose]();
    },
  };
}

interface Answered {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

function ask(port: number, { path = '/review', body = 'x' } = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const options = { host: 'localhost', port, path, method: 'POST', ca: authority.ca, agent: false };
    const asking = request({ ...options, headers: { 'content-length': body.length } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, body: Buffer.concat(chunks).toString(), headers });
      });
    });
    asking.once('error', reject);
    asking.end(body);
  });
}

function secured(port: number): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: 'localhost', port, ca: authority.ca }, () => resolve(socket));
    socket.once('error', reject);
  });
}

it('given two webhooks, then each has its path, /readyz is for kubelet, and another path is not found', async () => {
  const other: Webhook = { ...aWebhook('/other').webhook, answer: () => ({ ...ok, body: 'other' }) };
  await using server = await serving({}, [other]);
  const first = ask(server.port, { path: '/review?timeout=10s' });
  await until(() => server.running.length === 1);
  server.running[0]?.answer(ok);
  expect(await first).toMatchObject({ status: 200, body: 'reviewed', headers: { 'content-type': 'text/plain' } });
  expect(await ask(server.port, { path: '/other' })).toMatchObject({ status: 200, body: 'other' });
  expect(await ask(server.port, { path: '/readyz' })).toMatchObject({ status: 200, body: 'ok' });
  for (const path of ['/', '//', '/review/', '/%00', '*']) {
    expect(await ask(server.port, { path })).toMatchObject({ status: 404, body: '404 page not found\n' });
  }
  expect(await ask(server.port, { body: 'x'.repeat(101) })).toMatchObject({ status: 413 });
});

it.each([
  { limit: 'two reviews', limits: { reviews: 2 }, body: 'x' },
  { limit: '20 bytes of bodies', limits: { bytes: 20 }, body: 'x'.repeat(9) },
])(
  '[runtime#235] given the limit of $limit, then a third review gets 429 and is to come again in a second, until one has ended',
  async ({ limits, body }) => {
    await using server = await serving(limits);
    const asked = [ask(server.port, { body }), ask(server.port, { body })];
    await until(() => server.running.length === 2);
    expect(await ask(server.port, { body })).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect(await ask(server.port, { path: '/readyz' })).toMatchObject({ status: 200 });
    server.running[0]?.answer(ok);
    await Promise.race(asked);
    const next = ask(server.port, { body });
    await until(() => server.running.length === 3);
    for (const { answer } of server.running) answer(ok);
    expect((await Promise.all([...asked, next])).map(({ status }) => status)).toEqual([200, 200, 200]);
  },
);

it('[runtime#235] given a body beyond the bytes of all of them, then one is reviewed, because no other runs', async () => {
  await using server = await serving({ bytes: 0 });
  const first = ask(server.port);
  await until(() => server.running.length === 1);
  server.running[0]?.answer(ok);
  expect((await first).status).toBe(200);
});

it('[runtime#236] given a handler that never ends, then the answer is 503 after 30 seconds, that is logged, and another review may run', async () => {
  await using server = await serving({ reviews: 1 });
  const first = ask(server.port);
  await until(() => server.running.length === 1);
  const { signal } = server.running[0]!.ports;
  await server.clock.advance(29_999);
  expect([signal.aborted, server.log.messages()]).toEqual([false, []]);
  await server.clock.advance(1);
  expect(await first).toMatchObject({ status: 503, body: 'the review takes too long\n' });
  expect(server.log.lines).toMatchObject([
    { kind: 'error', message: 'Webhook takes too long', facts: { path: '/review' } },
  ]);
  expect(signal.aborted).toBe(true);
  const second = ask(server.port);
  await until(() => server.running.length === 2);
  server.running[1]?.answer(ok);
  expect((await second).status).toBe(200);
  await until(() => server.clock.pending === 0);
});

it('[runtime#236] given a client that goes away, then the signal of its handler aborts, nothing is logged, and another review may run', async () => {
  await using server = await serving({ reviews: 1 });
  const socket = await secured(server.port);
  socket.write('POST /review HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  await until(() => server.running.length === 1);
  socket.destroy();
  await until(() => server.running[0]?.ports.signal.aborted === true);
  const second = ask(server.port);
  await until(() => server.running.length === 2);
  server.running[1]?.answer(ok);
  expect((await second).status).toBe(200);
  expect(server.log.lines).toEqual([]);
});

it('[runtime#237] given a review that runs, when the server stops, then no connection is accepted any more, and the stop waits for the answer', async () => {
  await using server = await serving();
  const first = ask(server.port);
  await until(() => server.running.length === 1);
  let hasStopped = false;
  const stopped = server.stop().then(() => (hasStopped = true));
  await expect(secured(server.port)).rejects.toThrow('ECONNREFUSED');
  for (let turn = 0; turn < 20; turn += 1) await settle();
  expect(hasStopped).toBe(false);
  server.running[0]?.answer(ok);
  expect(await first).toMatchObject({ status: 200 });
  await stopped;
});

it('[runtime#237] given a client that keeps its connection, when the server stops, then its last answer says that it is the last', async () => {
  await using server = await serving();
  const socket = await secured(server.port);
  const received: string[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk.toString()));
  const next = 'POST /review HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx';
  socket.write(next);
  await until(() => server.running.length === 1);
  server.running[0]?.answer(ok);
  await until(() => received.length > 0);
  expect(received.join('')).toContain('\r\nConnection: keep-alive\r\n');
  socket.write(next);
  await until(() => server.running.length === 2);
  const stopped = server.stop();
  server.running[1]?.answer(ok);
  await stopped;
  await until(() => received.join('').includes('\r\nconnection: close\r\n'));
});

it('[runtime#237] given a review that does not end, when the server stops, then it closes its connection after 10 seconds', async () => {
  await using server = await serving();
  const first = ask(server.port).catch((error: Error) => error.message);
  await until(() => server.running.length === 1);
  let hasStopped = false;
  const stopped = server.stop().then(() => (hasStopped = true));
  await server.clock.advance(9_999);
  for (let turn = 0; turn < 20; turn += 1) await settle();
  expect(hasStopped).toBe(false);
  await server.clock.advance(1);
  await stopped;
  expect(await first).toBe('socket hang up');
});

it('[runtime#237] given a connection that is idle, when the server stops, then it is closed at once', async () => {
  await using server = await serving();
  const socket = await secured(server.port);
  const closed = new Promise((resolve) =>
    socket
      .on('error', () => undefined)
      .resume()
      .once('close', resolve),
  );
  await server.stop();
  await closed;
});

it('given a connection after its answer, then it stays open longer than the API server keeps it', async () => {
  await using server = await serving();
  const timeouts = vi.spyOn(Socket.prototype, 'setTimeout');
  const socket = await secured(server.port);
  socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  await until(() => timeouts.mock.calls.at(-1)?.[0] === 120_000);
  socket.destroy();
});

const webhook = '/review';
const name = (family: string): string => `controller_runtime_webhook_${family}`;

it('[runtime#262] given reviews, then those that run are in flight, and each answer is counted by path and status, with its duration', async () => {
  await using server = await serving({ reviews: 1 });
  const { metrics } = server;
  const counted = () => ['200', '429'].map((code) => metrics.value(name('requests_total'), { webhook, code }));
  const inFlight = () => metrics.value(name('requests_in_flight'), { webhook });
  expect([counted(), inFlight()]).toEqual([[0, undefined], 0]);
  const first = ask(server.port);
  await until(() => server.running.length === 1);
  await server.clock.advance(1_500);
  expect((await ask(server.port)).status).toBe(429);
  expect([counted(), inFlight()]).toEqual([[0, 1], 1]);
  server.running[0]?.answer(ok);
  await first;
  expect([counted(), inFlight()]).toEqual([[1, 1], 0]);
  expect(metrics.observations(name('latency_seconds'), { webhook })).toEqual([0, 1.5]);
  await ask(server.port, { path: '/readyz' });
  expect(metrics.observations(name('latency_seconds'), { webhook })).toHaveLength(2);
});

it('[runtime#262] given a client that goes away before its answer, then the review has a duration and no status', async () => {
  await using server = await serving();
  const socket = await secured(server.port);
  socket.write('POST /review HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  await until(() => server.running.length === 1);
  socket.destroy();
  await until(() => server.metrics.value(name('requests_in_flight'), { webhook }) === 0);
  expect(server.metrics.observations(name('latency_seconds'), { webhook })).toEqual([0]);
  expect(server.metrics.value(name('requests_total'), { webhook, code: '200' })).toBe(0);
});
