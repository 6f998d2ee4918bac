// SPDX-License-Identifier: Apache-2.0
/**
 * Opens one connection to the API server: TCP, through a proxy's tunnel where there is one, then TLS, each step with the
 * time limit that Go's client has for it. Whatever fails, nothing stays open.
 */
import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Clock } from '../../clock/clock.ts';
import { TransportError, type TransportFailure } from '../transport.ts';
import { type Endpoint, endpointOf } from './endpoint.ts';
import { toTransportError } from './socket-error.ts';
import { openTunnel } from './tunnel.ts';

export type Protocol = 'h2' | 'http/1.1';

export interface Dialed {
  readonly socket: Socket;
  readonly protocol: Protocol;
}

/** Opens a connection, offering these protocols in this order. */
export type Dial = (offer: readonly Protocol[]) => Promise<Dialed>;

export interface DialDeps {
  readonly clock: Clock;
  /** Starts a TCP connection; node:net by default. */
  readonly connect?: (options: TcpNetConnectOpts) => Socket;
}

export interface DialOptions {
  readonly endpoint: Endpoint;
  readonly proxy?: URL | undefined;
  /** Certificates and what to verify, asked for each connection. Unused for http. */
  readonly tls: () => ConnectionOptions;
  /** Its abort fails the attempts that are under way, with its reason, and closes their sockets. */
  readonly signal: AbortSignal;
}

const tcpTimeoutMs = 30_000;
const tlsTimeoutMs = 10_000;
const keepAliveMs = 30_000;

export function createDial(deps: DialDeps, { endpoint, proxy, tls, signal }: DialOptions): Dial {
  const { connect = connectTcp } = deps;

  const openTcp = ({ host, port }: Pick<Endpoint, 'host' | 'port'>): Promise<Socket> => {
    const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs });
    const timeout = `dial tcp ${host}:${port}: i/o timeout`;
    return step(deps.clock, socket, { event: 'connect', ms: tcpTimeoutMs, timeout, otherwise: 'refused', signal });
  };
  const secure = (options: ConnectionOptions): Promise<TLSSocket> => {
    const socket = connectTls(options);
    const timeout = 'net/http: TLS handshake timeout';
    return step(deps.clock, socket, { event: 'secureConnect', ms: tlsTimeoutMs, timeout, otherwise: 'tls', signal });
  };
  const openToProxy = async (url: URL): Promise<Socket> => {
    const { scheme, host, port } = endpointOf(url);
    const socket = await openTcp({ host, port });
    return scheme === 'https' ? secure({ socket, host, ...serverName(host) }) : socket;
  };

  return async (offer) => {
    if (endpoint.scheme === 'http') {
      // Plain requests to a proxy name their whole URL instead of using a tunnel.
      return { socket: await (proxy === undefined ? openTcp(endpoint) : openToProxy(proxy)), protocol: 'http/1.1' };
    }
    const socket =
      proxy === undefined
        ? await openTcp(endpoint)
        : await openTunnel(deps.clock, await openToProxy(proxy), { endpoint, proxy, signal });
    const { host } = endpoint;
    const secured = await secure({ ...serverName(host), ...tls(), socket, host, ALPNProtocols: [...offer] });
    return { socket: secured, protocol: secured.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' };
  };
}

/** SNI takes names only. */
function serverName(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}

interface Step {
  readonly event: 'connect' | 'secureConnect';
  readonly ms: number;
  readonly timeout: string;
  readonly otherwise: TransportFailure;
  readonly signal: AbortSignal;
}

function step<S extends Socket>(clock: Clock, socket: S, { event, ms, timeout, otherwise, signal }: Step): Promise<S> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      release();
      socket.destroy();
      reject(toTransportError(error, otherwise));
    };
    const succeed = (): void => {
      release();
      resolve(socket);
    };
    const closed = (): void => fail(new TransportError('eof', 'connection closed before it was established'));
    const alarm = clock.timer(ms, () => fail(new TransportError('timeout', timeout)));
    const onAbort = (): void => fail(signal.reason);
    const release = (): void => {
      alarm.cancel();
      signal.removeEventListener('abort', onAbort);
      socket.off(event, succeed).off('error', fail).off('close', closed);
      // Later errors of a socket that is given up are of no interest. TLS reports nonsense behind the handshake without closing, and there is
      // no other listener yet.
      socket.on('error', () => socket.destroy());
    };
    socket.once(event, succeed).once('error', fail).once('close', closed);
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
}
