// SPDX-License-Identifier: Apache-2.0
/** The steps to a connection, one by one, on sockets that are in memory. */
import { getEventListeners } from 'node:events';
import type { Socket, TcpNetConnectOpts } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import {
  type ConnectionOptions,
  getCACertificates,
  setDefaultCACertificates,
  TLSSocket,
  type TLSSocketOptions,
} from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestAuthority, FakeClock, settle } from '../../../testing/index.ts';
import { rejectionOf } from '../../../testing/transport-fixture.ts';
import { headersOf } from './connection.ts';
import { createDial } from './dial.ts';
import { parseEndpoint } from './endpoint.ts';
import { toTransportError } from './socket-error.ts';
import { openTunnel } from './tunnel.ts';

const authority = createTestAuthority();
const certificate = authority.issue({ commonName: 'server', hosts: ['kubernetes', 'proxy', '127.0.0.1'] });

interface Wire {
  readonly to: TcpNetConnectOpts;
  readonly near: Duplex;
  readonly far: Duplex;
}

interface SetUp {
  readonly endpoint: string;
  readonly proxy?: string;
  readonly tls?: ConnectionOptions;
  readonly signal?: AbortSignal;
}

/** Dials, and returns the wire whose TCP connection is being opened. */
const setUp = ({ endpoint, proxy, tls = { ca: authority.ca }, signal = new AbortController().signal }: SetUp) => {
  const clock = new FakeClock();
  const wires: Wire[] = [];
  const connect = (to: TcpNetConnectOpts): Socket => {
    const [near, far] = duplexPair();
    wires.push({ to, near, far });
    return near as Socket;
  };
  const options = { endpoint: parseEndpoint(endpoint, 'https'), proxy: proxy === undefined ? proxy : new URL(proxy) };
  const dialed = createDial({ clock, connect }, { ...options, tls: () => tls, signal })(['h2', 'http/1.1']);
  dialed.catch(() => undefined);
  return { clock, dialed, ...(wires[0] ?? expect.unreachable()) };
};

/** The server at the other end of a wire. */
const serve = (far: Duplex, options: TLSSocketOptions = {}): TLSSocket =>
  new TLSSocket(far, { isServer: true, ...certificate, ...options }).on('error', () => undefined);

describe('where TCP leads', () => {
  it.each([
    ['a server', { endpoint: 'http://api:8080' }, { host: 'api', port: 8080 }],
    ['a proxy', { endpoint: 'http://api', proxy: 'http://u:p@proxy' }, { host: 'proxy', port: 80 }],
    [
      'a proxy with TLS and an IPv6 address',
      { endpoint: 'http://api', proxy: 'https://[fd00::1]' },
      { host: 'fd00::1', port: 443 },
    ],
    [
      'a proxy before a server with TLS',
      { endpoint: 'https://api', proxy: 'http://proxy:3128' },
      { host: 'proxy', port: 3128 },
    ],
  ])('given %s, then its host and port are dialed, and the connection is kept alive', (_what, given, to) => {
    const keptAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 };
    expect(setUp(given).to).toEqual({ ...to, ...keptAlive });
  });

  it.each([undefined, 'http://proxy'])(
    'given plain http and the proxy %s, then the socket serves as it is',
    async (proxy) => {
      const { signal } = new AbortController();
      const { clock, dialed, near } = setUp({ endpoint: 'http://api', signal, ...(proxy !== undefined && { proxy }) });
      near.emit('connect');
      const { socket, protocol } = await dialed;
      expect([socket === near, protocol, clock.pending]).toEqual([true, 'http/1.1', 0]);
      // An error is taken until the user of the socket listens.
      expect([near.listenerCount('error'), near.listenerCount('close')]).toEqual([1, 0]);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    },
  );
});

describe('TLS', () => {
  const trusted = getCACertificates('default');
  beforeAll(() => setDefaultCACertificates([authority.ca]));
  afterAll(() => setDefaultCACertificates(trusted));

  it.each([
    ['https://kubernetes', ['h2'], 'h2', 'kubernetes'],
    ['https://kubernetes', undefined, 'http/1.1', 'kubernetes'],
    ['https://127.0.0.1', ['http/1.1'], 'http/1.1', null],
  ])('given %s, which speaks %j, then that is agreed upon, and names are sent, addresses not', async (...row) => {
    const [endpoint, spoken, agreed, name] = row;
    const { clock, dialed, near, far } = setUp({ endpoint });
    const server = serve(far, spoken && { ALPNProtocols: spoken });
    near.emit('connect');
    const { protocol } = await dialed;
    expect([protocol, server.servername, clock.pending]).toEqual([agreed, name, 0]);
  });

  it('given a certificate for another name, then the dial fails', async () => {
    const { dialed, near, far } = setUp({ endpoint: 'https://other' });
    serve(far);
    near.emit('connect');
    expect(await rejectionOf(dialed)).toMatchObject({
      failure: 'tls',
      cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    });
    expect(near.destroyed).toBe(true);
  });

  it.each([
    ['https://proxy', 'proxy'],
    ['https://127.0.0.1', null],
  ])('given the proxy %s, then the way to it is encrypted', async (proxy, name) => {
    const { dialed, near, far } = setUp({ endpoint: 'http://api', proxy });
    const server = serve(far);
    near.emit('connect');
    const { socket } = await dialed;
    expect([socket instanceof TLSSocket, server.servername]).toEqual([true, name]);
  });
});

describe('dials that fail', () => {
  const seen = (failure: string, message: string) => ({ failure, message });
  it.each<[string, (wire: ReturnType<typeof setUp>) => void, object]>([
    ['is closed', ({ near }) => near.destroy(), seen('eof', 'connection closed before it was established')],
    ['reports an error', ({ near }) => near.destroy(new Error('odd')), seen('refused', 'odd')],
    ['reports an error without a text', ({ near }) => near.destroy(new Error('')), seen('refused', '')],
    ['does not connect', ({ clock }) => void clock.advance(30_000), seen('timeout', 'dial tcp api:443: i/o timeout')],
    [
      'connects to a server that does not speak',
      ({ near, clock }) => {
        near.emit('connect');
        void settle().then(() => clock.advance(10_000));
      },
      seen('timeout', 'net/http: TLS handshake timeout'),
    ],
  ])('given a socket that %s, then the dial fails, and nothing is left', async (_what, happen, error) => {
    const wire = setUp({ endpoint: 'https://api' });
    happen(wire);
    expect(await rejectionOf(wire.dialed)).toMatchObject(error);
    expect([wire.near.destroyed, wire.clock.pending]).toEqual([true, 0]);
    // A late error of the socket is ignored.
    wire.near.emit('error', new Error('late'));
  });

  it.each(['before', 'during'])(
    'given a signal that aborts %s the dial, then the dial fails with its reason',
    async (when) => {
      const stop = new AbortController();
      if (when === 'before') stop.abort(new Error('stop'));
      const { dialed, near, clock } = setUp({ endpoint: 'https://api', signal: stop.signal });
      stop.abort(new Error('stop'));
      expect(await rejectionOf(dialed)).toMatchObject({ message: 'stop' });
      expect([near.destroyed, clock.pending]).toEqual([true, 0]);
    },
  );
});

describe('a tunnel', () => {
  const open = (signal = new AbortController().signal) => {
    const [near, far] = duplexPair();
    const clock = new FakeClock();
    const route = {
      endpoint: parseEndpoint('https://[fd00::1]:6443', 'https'),
      proxy: new URL('http://proxy'),
      signal,
    };
    return { clock, near, far, opened: openTunnel(clock, near as Socket, route) };
  };

  it('given an answer with bytes of the server behind it, then these are read first', async () => {
    const { signal } = new AbortController();
    const { clock, far, opened } = open(signal);
    const [request] = (await new Promise((resolve) => far.once('data', (chunk) => resolve([chunk])))) as [Buffer];
    expect(String(request)).toMatch(/^CONNECT \[fd00::1\]:6443 HTTP\/1.1\r\nhost: \[fd00::1\]:6443\r\n/i);
    expect(String(request)).not.toMatch(/^proxy-authorization/im);
    far.write('HTTP/1.1 200 OK\r\n\r\nhello');
    const socket = await opened;
    expect([String(socket.read()), clock.pending]).toEqual(['hello', 0]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it.each(['before', 'during'])('given a signal that aborts %s the request, then there is none', async (when) => {
    const stop = new AbortController();
    if (when === 'before') stop.abort(new Error('stop'));
    const { clock, near, opened } = open(stop.signal);
    stop.abort(new Error('stop'));
    expect(await rejectionOf(opened)).toMatchObject({ message: 'stop' });
    expect([near.destroyed, clock.pending]).toEqual([true, 0]);
    // A late error of the socket is ignored.
    near.emit('error', new Error('late'));
  });

  it('given a socket that breaks before the answer, then there is none', async () => {
    const { clock, near, opened } = open();
    await settle();
    near.destroy(new Error('odd'));
    expect(await rejectionOf(opened)).toMatchObject({ failure: 'eof', message: 'odd' });
    expect(clock.pending).toBe(0);
  });
});

describe('what a socket reports', () => {
  it.each([
    ['ECONNREFUSED', 'refused'],
    ['ETIMEDOUT', 'timeout'],
    ['ECONNRESET', 'reset'],
    ['ECONNABORTED', 'reset'],
    ['EPIPE', 'reset'],
    ['ENOTFOUND', 'lookup'],
    ['EAI_AGAIN', 'lookup'],
    ['EODD', 'eof'],
  ])(
    'given an error with the code %s and no text, then its failure is "%s", and its text is the code',
    (code, failure) => {
      const error = toTransportError(Object.assign(new Error(''), { code }), 'eof');
      expect(error).toMatchObject({ failure, message: code });
    },
  );

  it('given a text, then that is the message of the error', () => {
    expect(toTransportError('broken', 'eof')).toMatchObject({ failure: 'eof', message: 'broken' });
  });
});

it('given several cookies, then they are joined, and other headers stay', () => {
  expect(headersOf({ 'set-cookie': ['a=1', 'b=2'], date: 'today' })).toEqual({
    'set-cookie': 'a=1, b=2',
    date: 'today',
  });
});
