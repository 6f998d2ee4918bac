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
}

/** CONNECT: asks the proxy for a tunnel; the socket that comes back is connected to the server. */
export function openTunnel(clock: Clock, socket: Socket, { endpoint, proxy }: Route): Promise<Socket> {
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
      alarm.cancel();
      // What the request says about its own end concerns nobody any more.
      socket.on('error', () => undefined);
      request.destroy();
      socket.destroy();
      reject(toTransportError(error, 'eof'));
    };
    const alarm = clock.timer(timeoutMs, () =>
      fail(new TransportError('timeout', 'the proxy does not answer to CONNECT')),
    );
    const refuse = ({ statusCode, statusMessage }: IncomingMessage): void =>
      fail(new TransportError('refused', `the proxy refuses the tunnel: ${statusCode} ${statusMessage}`));
    request.on('error', fail);
    request.on('response', refuse);
    request.on('connect', (response, _socket, head) => {
      if (response.statusCode !== 200) {
        refuse(response);
        return;
      }
      alarm.cancel();
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    request.end();
  });
}

/** The header for a proxy whose URL names a user. */
export function proxyAuthorization({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '') return {};
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(user).toString('base64')}` };
}
