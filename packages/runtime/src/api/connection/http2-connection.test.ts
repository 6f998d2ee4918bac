// SPDX-License-Identifier: Apache-2.0
/** One connection on a socket in memory, and a peer that is played. */
import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream, type Settings } from 'node:http2';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../../testing/index.ts';
import { bodyText, rejectionOf } from '../../../testing/transport-fixture.ts';
import { DeadlineError } from '../../clock/deadline.ts';
import type { TransportRequest } from '../transport.ts';
import { parseEndpoint } from './endpoint.ts';
import { createHttp2Connection } from './http2-connection.ts';

interface Wanted {
  readonly idleTimeoutMs?: number;
  readonly readIdleMs?: number;
}

/** All that needs no time to pass has happened. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await settle();
}

const setUp = async ({ idleTimeoutMs, readIdleMs = 30_000 }: Wanted = {}) => {
  const clock = new FakeClock();
  const [near, far] = duplexPair();
  const peer = performServerHandshake(far).on('error', () => undefined);
  const settings: Settings[] = [];
  peer.on('remoteSettings', (received) => settings.push(received));
  const asked: IncomingHttpHeaders[] = [];
  const streams: ServerHttp2Stream[] = [];
  peer.on('stream', (stream, headers) => {
    asked.push(headers);
    streams.push(stream.on('error', () => undefined));
  });
  let ends = 0;
  const connection = createHttp2Connection(clock, near as Socket, {
    endpoint: parseEndpoint('https://api', 'https'),
    health: { readIdleMs, pingTimeoutMs: 15_000 },
    idleTimeoutMs,
    closed: () => (ends += 1),
  });
  const send = (request: Partial<TransportRequest> = {}) =>
    connection.send({ method: 'GET', path: '/x', headers: {}, signal: new AbortController().signal, ...request });
  const answer = (stream: number): void => {
    streams[stream]?.respond({ ':status': 200 });
    streams[stream]?.end('answered');
  };
  const state = async () => {
    await turns();
    return [connection.availability(), near.destroyed ? 'cut' : 'there', ends, clock.pending];
  };
  await turns();
  return { clock, near, far, peer, settings, asked, connection, send, answer, state };
};

type Scene = Awaited<ReturnType<typeof setUp>>;

/** One request was answered, and no stream is left. */
const used = async (wanted?: Wanted) => {
  const scene = await setUp(wanted);
  const response = scene.send();
  await turns();
  scene.answer(0);
  await bodyText(await response);
  await turns();
  return scene;
};

it('given a connection, then the peer may not push, and may send 1 MiB a stream and 16 MiB in all', async () => {
  const { settings, peer, send, asked } = await setUp();
  expect(settings).toMatchObject([{ enablePush: false, initialWindowSize: 2 ** 20 }]);
  expect(peer.state.remoteWindowSize).toBe(2 ** 24);
  void rejectionOf(send({ method: 'DELETE', headers: { accept: 'json' } }));
  await turns();
  expect(Object.fromEntries(Object.entries(asked[0] ?? {}))).toEqual({
    ':method': 'DELETE',
    ':path': '/x',
    ':authority': 'api',
    ':scheme': 'https',
    accept: 'json',
  });
});

describe('the end', () => {
  it.each<readonly [string, (scene: Scene) => unknown]>([
    ['is retired', (scene) => scene.connection.retire()],
    ['was idle for its time', (scene) => scene.clock.advance(1000)],
    ['is destroyed', (scene) => void scene.connection.destroy(new Error('gone'))],
    ['gets GOAWAY', (scene) => scene.peer.goaway(0)],
  ])(
    'given a connection without a stream that %s, then it is cut without waiting for the peer, and nothing is left',
    async (_what, end) => {
      const scene = await used({ idleTimeoutMs: 1000 });
      expect(await scene.state()).toEqual(['open', 'there', 0, 2]);
      // It hears nothing any more.
      scene.far.pause();
      await end(scene);
      expect(await scene.state()).toEqual(['closed', 'cut', 1, 0]);
    },
  );

  it('given a connection with a running stream that is retired, then it is cut after the end of the stream', async () => {
    const { connection, send, answer, state } = await setUp({ idleTimeoutMs: 1000 });
    const response = send();
    await turns();
    connection.retire();
    expect(await state()).toEqual(['closed', 'there', 0, 1]);
    answer(0);
    expect(await bodyText(await response)).toBe('answered');
    expect(await state()).toEqual(['closed', 'cut', 1, 0]);
  });

  it('given a connection with a running stream, when its socket breaks, then the request fails, and no timer is left', async () => {
    const { near, send, state } = await setUp({ idleTimeoutMs: 1000 });
    const response = rejectionOf(send());
    await turns();
    near.destroy();
    expect(await response).toMatchObject({ failure: 'eof' });
    expect(await state()).toEqual(['closed', 'cut', 1, 0]);
  });

  it('given a connection whose stream ids are used up, then the request was not processed, and running ones go on', async () => {
    const { connection, send, answer } = await setUp();
    // Nothing else shows the session that is inside.
    const begun = (message: unknown): void => {
      const { stream } = message as { readonly stream: { readonly session: { setNextStreamID(id: number): void } } };
      stream.session.setNextStreamID(2 ** 31 - 1);
    };
    subscribe('http2.client.stream.created', begun);
    const first = send();
    unsubscribe('http2.client.stream.created', begun);
    const running = [first, send()];
    await turns();
    expect(await rejectionOf(send())).toMatchObject({ failure: 'unprocessed' });
    expect(connection.availability()).toBe('closed');
    await turns();
    for (const stream of [0, 1]) answer(stream);
    for (const response of running) expect(await bodyText(await response)).toBe('answered');
  });
});

describe('a request without an answer by its deadline', () => {
  it.each([
    { peer: 'is silent', availability: 'busy' },
    { peer: 'answers the PING at once', availability: 'open' },
    { peer: 'is silent after another answer', availability: 'open' },
    { peer: 'cannot be asked', readIdleMs: 0, availability: 'closed' },
  ])('given a peer that $peer, then the connection is $availability', async ({ peer, availability, ...wanted }) => {
    const { clock, connection, far, send, answer } = await setUp(wanted);
    const stop = new AbortController();
    const [late, other] = [rejectionOf(send({ signal: stop.signal })), rejectionOf(send())];
    await clock.advance(1000);
    await turns();
    if (peer === 'is silent after another answer') {
      answer(1);
      await other;
    }
    if (peer.startsWith('is silent')) far.pause();
    stop.abort(new DeadlineError(1000));
    expect(connection.availability()).toBe(availability);
    expect(await late).toMatchObject({ failure: 'timeout' });
    far.resume();
    await turns();
    expect(connection.availability()).toBe(availability === 'busy' ? 'open' : availability);
  });
});
