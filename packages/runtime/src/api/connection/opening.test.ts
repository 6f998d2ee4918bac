// SPDX-License-Identifier: Apache-2.0
/** How a transport opens a connection, and what its first request looks like. Sockets in memory. */
import { createServer } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createTestAuthority, FakeClock, settle } from '../../../testing/index.ts';
import { asSocket, callsOf, rejectionOf } from '../../../testing/transport-fixture.ts';
import { parseEndpoint } from './endpoint.ts';
import { createServerTransport, type ServerTransportOptions, type TlsSource } from './server-transport.ts';

const authority = createTestAuthority();
const certificate = authority.issue({ commonName: 'server', hosts: ['api'] });

interface Wanted extends Partial<Pick<ServerTransportOptions, 'http2'>> {
  readonly endpoint?: string;
  readonly proxy?: string;
  readonly refresh?: TlsSource['refresh'];
  /** What the server speaks. */
  readonly protocols?: readonly ('h2' | 'http/1.1')[];
  /** What the server sends right behind its part of the handshake. */
  readonly behind?: string;
  /** Called when the client has seen the end of the handshake. */
  readonly onSecured?: () => void;
}

/** A server that notes what it is asked: the version, the method, the path, the host and what is for a proxy. */
const startServer = ({ protocols = ['h2', 'http/1.1'], behind = '' }: Wanted) => {
  const asked: unknown[] = [];
  const http = createServer(({ httpVersion, method, url, headers }, response) => {
    asked.push([httpVersion, method, url, headers.host, headers['proxy-authorization']]);
    response.end();
  });
  http.on('connect', ({ method, url, headers }, socket: Duplex) => {
    asked.push([method, url, headers['proxy-authorization']]);
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    secure(socket);
  });
  const secure = (far: Duplex): void => {
    const [server, wire] = duplexPair();
    const secured = new TLSSocket(server, { isServer: true, ...certificate, ALPNProtocols: [...protocols] });
    secured.on('error', () => undefined);
    secured.on('secure', () => {
      if (secured.alpnProtocol !== 'h2') http.emit('connection', secured);
    });
    far.on('data', (bytes) => wire.write(bytes));
    const sent: Buffer[] = [];
    wire.on('data', (bytes: Buffer) => {
      sent.push(bytes);
      // The parts of the handshake that the server sends in one go arrive in one go.
      if (sent.length > 1) return;
      setImmediate(() => far.write(Buffer.concat([...sent.splice(0), Buffer.from(behind)])));
    });
  };
  return { asked, accept: (far: Duplex, isSecure: boolean) => (isSecure ? secure(far) : http.emit('connection', far)) };
};

const setUp = (wanted: Wanted) => {
  const {
    endpoint = 'https://api',
    proxy,
    http2 = 'allowed',
    onSecured = () => undefined,
    refresh = () => undefined,
  } = wanted;
  const clock = new FakeClock();
  const setTimer = clock.timer.bind(clock);
  clock.timer = (ms, fire) => {
    const timer = setTimer(ms, fire);
    const cancel = (): void => {
      timer.cancel();
      // The time limit of the handshake.
      if (ms === 10_000) queueMicrotask(onSecured);
    };
    return { cancel, [Symbol.dispose]: cancel };
  };
  const server = startServer(wanted);
  const sockets: Duplex[] = [];
  const connect = () => {
    const [near, far] = duplexPair();
    sockets.push(near);
    server.accept(far, proxy === undefined && endpoint.startsWith('https:'));
    queueMicrotask(() => near.emit('connect'));
    return asSocket(near);
  };
  const transport = createServerTransport(
    { clock, connect },
    {
      endpoint: parseEndpoint(endpoint, 'https'),
      ...(proxy !== undefined && { proxy: new URL(proxy) }),
      http2,
      health: { readIdleMs: 0, pingTimeoutMs: 0 },
      tls: { options: () => ({ ca: authority.ca }), refresh },
    },
  );
  const left = async () => {
    for (let turn = 0; turn < 5; turn += 1) await settle();
    return [sockets.filter(({ destroyed }) => !destroyed).length, clock.pending];
  };
  return { asked: server.asked, transport, sockets, left, ...callsOf(transport) };
};

const closed = { failure: 'aborted', message: 'the transport is closed' };

describe('the first request', () => {
  const credentials = `Basic ${Buffer.from('u:p').toString('base64')}`;
  const tunnel = ['CONNECT', 'api:443', credentials];
  it.each<readonly [string, Wanted, readonly unknown[]]>([
    ['HTTP/2 that is switched off', { http2: 'disabled' }, [['1.1', 'GET', '/x', 'api', undefined]]],
    ['a server without HTTP/2', { protocols: ['http/1.1'] }, [['1.1', 'GET', '/x', 'api', undefined]]],
    [
      'a base path',
      { endpoint: 'https://api/base', protocols: ['http/1.1'] },
      [['1.1', 'GET', '/base/x', 'api', undefined]],
    ],
    ['plain http', { endpoint: 'http://api:8080/base' }, [['1.1', 'GET', '/base/x', 'api:8080', undefined]]],
    [
      'plain http and a proxy',
      { endpoint: 'http://api:8080', proxy: 'http://u:p@proxy' },
      [['1.1', 'GET', 'http://api:8080/x', 'api:8080', credentials]],
    ],
    [
      'a proxy',
      { proxy: 'http://u:p@proxy', protocols: ['http/1.1'] },
      [tunnel, ['1.1', 'GET', '/x', 'api', undefined]],
    ],
  ])('given %s, then one connection is opened, and the request names what it has to', async (_what, wanted, asked) => {
    const scene = setUp(wanted);
    expect((await scene.get('/x')).status).toBe(200);
    expect([scene.asked, scene.sockets.length]).toEqual([asked, 1]);
    const closing = scene.transport.close();
    expect(await rejectionOf(scene.get('/late'))).toMatchObject(closed);
    await closing;
    expect([await scene.left(), scene.sockets.length]).toEqual([[0, 0], 1]);
  });
});

it('given a transport without TLS that is closed while certificates are read, then a request that waits for them fails, and nothing is opened', async () => {
  const { get, transport, sockets } = setUp({ endpoint: 'http://api', refresh: () => Promise.resolve('same') });
  const answer = rejectionOf(get('/x'));
  await transport.close();
  expect(await answer).toMatchObject(closed);
  expect(sockets).toEqual([]);
});

describe.each(['h2', 'http/1.1'] as const)('the end of a handshake with %s', (protocol) => {
  it('given a server that sends nonsense right behind its handshake, then the request fails, and nothing is left', async () => {
    const { get, left } = setUp({ protocols: [protocol], behind: 'nonsense that is no TLS' });
    const message = 'connection closed before it was used';
    expect(await rejectionOf(get('/x'))).toMatchObject({ failure: 'eof', message });
    expect(await left()).toEqual([0, 0]);
  });

  it('given a transport that is closed in that moment, then the request fails, nothing is left, and nothing is opened any more', async () => {
    const late: unknown[] = [];
    const scene = setUp({
      protocols: [protocol],
      onSecured: () => {
        void scene.transport.close();
        void rejectionOf(scene.get('/late')).then((error) => late.push(error));
      },
    });
    expect(await rejectionOf(scene.get('/x'))).toMatchObject(closed);
    expect(await scene.left()).toEqual([0, 0]);
    expect([late, scene.sockets.length, scene.asked]).toMatchObject([[closed], 1, []]);
  });
});
