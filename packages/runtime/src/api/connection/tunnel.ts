// SPDX-License-Identifier: Apache-2.0
/** The way through an HTTP proxy. */
import { request as startRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock/clock.ts';
import { TransportError } from '../transport.ts';
import type { Endpoint } from './endpoint.ts';
import { toTransportError } from './socket-error.ts';

const timeoutMs = 60_000;

export interface Route {
  readonly endpoint: Endpoint;
  readonly proxy: URL;
  readonly signal: AbortSignal;
}

/** CONNECT: asks the proxy for a tunnel; the socket that comes back is connected to the server. */
export function openTunnel(clock: Clock, socket: Socket, { endpoint, proxy, signal }: Route): Promise<Socket> {
  const { host, port } = endpoint;
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const request = startRequest({
    createConnection: () => socket,
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...proxyAuthorization(proxy) },
  });
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      release();
      // Later errors of the request and its socket are of no interest.
      socket.on('error', () => undefined);
      request.destroy();
      socket.destroy();
      reject(toTransportError(error, 'eof'));
    };
    const alarm = clock.timer(timeoutMs, () =>
      fail(new TransportError('timeout', 'the proxy does not answer to CONNECT')),
    );
    const onAbort = (): void => fail(signal.reason);
    const release = (): void => {
      alarm.cancel();
      signal.removeEventListener('abort', onAbort);
    };
    // Whatever the answer to CONNECT is, Node.js reports it as this event.
    request.on('connect', ({ statusCode, statusMessage }, _socket, head) => {
      if (statusCode === 200) {
        release();
        socket.unshift(head);
        resolve(socket);
      } else {
        fail(new TransportError('refused', `the proxy refuses the tunnel: ${statusCode} ${statusMessage}`));
      }
    });
    request.on('error', fail).end();
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}

/** The header for a proxy whose URL names a user. */
export function proxyAuthorization({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '') return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` };
}
