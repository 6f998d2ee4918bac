// SPDX-License-Identifier: Apache-2.0
/** The way through an HTTP proxy. */
import { type IncomingMessage, request as startRequest } from 'node:http';
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
    const refuse = ({ statusCode, statusMessage }: IncomingMessage): void =>
      fail(new TransportError('refused', `the proxy refuses the tunnel: ${statusCode} ${statusMessage}`));
    request.on('error', fail);
    request.on('response', refuse);
    request.on('connect', (response, _socket, head) => {
      if (response.statusCode !== 200) {
        refuse(response);
        return;
      }
      release();
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.end();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

/** The header for a proxy whose URL names a user. */
export function proxyAuthorization({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '') return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` };
}
