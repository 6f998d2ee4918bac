// SPDX-License-Identifier: Apache-2.0
/** What happens between the end of a handshake and the first request, on sockets in memory. */
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { createTestAuthority, FakeClock, settle } from '../../../testing/index.ts';
import { callsOf, rejectionOf } from '../../../testing/transport-fixture.ts';
import { parseEndpoint } from './endpoint.ts';
import { createServerTransport } from './server-transport.ts';

const authority = createTestAuthority();
const certificate = authority.issue({ commonName: 'server', hosts: ['api'] });

interface Wanted {
  readonly protocol: 'h2' | 'http/1.1';
  /** What the server sends right behind its part of the handshake. */
  readonly behind?: string;
  /** Called when the client has seen the end of the handshake. */
  readonly onSecured?: () => void;
}

const setUp = ({ protocol, behind = '', onSecured = () => undefined }: Wanted) => {
  const clock = new FakeClock();
  const [near, far] = duplexPair();
  const [server, wire] = duplexPair();
  new TLSSocket(server, { isServer: true, ...certificate, ALPNProtocols: [protocol] }).on('error', () => undefined);
  far.on('data', (bytes) => wire.write(bytes));
  let sent: Buffer[] = [];
  wire.on('data', (bytes: Buffer) => {
    sent.push(bytes);
    // The parts of the handshake that the server sends in one go arrive in one go.
    if (sent.length > 1) return;
    setImmediate(() => {
      far.write(Buffer.concat([...sent, Buffer.from(behind)]));
      sent = [];
    });
  });
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
  const transport = createServerTransport(
    {
      clock,
      connect: () => {
        queueMicrotask(() => near.emit('connect'));
        return near as Socket;
      },
    },
    {
      endpoint: parseEndpoint('https://api', 'https'),
      http2: 'allowed',
      health: { readIdleMs: 0, pingTimeoutMs: 0 },
      tls: { options: () => ({ ca: authority.ca }), refresh: () => undefined },
    },
  );
  return { clock, near, transport, ...callsOf(transport) };
};

it.each(['h2', 'http/1.1'] as const)(
  'given a server with %s that sends nonsense right behind its handshake, then the request fails, and nothing is left',
  async (protocol) => {
    const { clock, near, get } = setUp({ protocol, behind: 'nonsense that is no TLS' });
    expect(await rejectionOf(get('/x'))).toMatchObject({
      failure: 'eof',
      message: 'connection closed before it was used',
    });
    await settle();
    expect([near.destroyed, clock.pending]).toEqual([true, 0]);
  },
);

it.each(['h2', 'http/1.1'] as const)(
  'given a transport that is closed at the end of the handshake with a server with %s, then the request fails, and nothing is left',
  async (protocol) => {
    const { clock, near, get, transport } = setUp({ protocol, onSecured: () => void transport.close() });
    expect(await rejectionOf(get('/x'))).toMatchObject({ failure: 'aborted', message: 'the transport is closed' });
    await settle();
    expect([near.destroyed, clock.pending]).toEqual([true, 0]);
  },
);
