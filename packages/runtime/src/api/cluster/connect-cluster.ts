// SPDX-License-Identifier: Apache-2.0
/** From a configuration to a transport: certificates, credentials, proxy and protocol put together. */
import type { Clock } from '../../clock/clock.ts';
import type { Logger } from '../../log/logger.ts';
import type { Socket } from 'node:net';
import { authorityOf } from '../connection/endpoint.ts';
import { healthFromEnvironment } from '../connection/health.ts';
import { type Environment, proxyFromEnvironment } from '../connection/proxy.ts';
import { createServerTransport } from '../connection/server-transport.ts';
import { authenticated, cachedCredentials, type Credential, type Credentials, type Identity } from '../credentials.ts';
import type { Transport } from '../transport.ts';
import type { ClusterConfig, User } from './cluster-config.ts';
import { execPlugin } from './exec-plugin.ts';
import { type Files, readText } from './files.ts';
import { loadTlsSource } from './tls-source.ts';

export interface ConnectDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly files: Files;
  readonly env: Environment;
}

/** A connection of its own to the API server, for a request that upgrades it from HTTP/1.1 to another protocol. */
export interface DialedConnection {
  /** Connected, with TLS if the server has it. The caller ends it. */
  readonly socket: Socket;
  /** `http:`, also above TLS, with the host, and the path that each path of the API begins with. */
  readonly url: URL;
  /** The credentials, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ClusterConnection extends AsyncDisposable {
  /** Host and port of the server, for metrics and messages. */
  readonly host: string;
  readonly transport: Transport;
  /** Rejects with a TransportError, or if requests have to name their whole URL for a proxy. */
  readonly dial: () => Promise<DialedConnection>;
  /** Cuts what is open and resolves when it is gone. */
  readonly close: () => Promise<void>;
}

/** Each call makes a connection of its own, opened by the first request. Rejects when certificates cannot be used. */
export async function connectCluster(deps: ConnectDeps, config: ClusterConfig): Promise<ClusterConnection> {
  const { clock, env, logger } = deps;
  if ((env['KUBE_CLIENT_BACKOFF_BASE'] ?? '') !== '' && (env['KUBE_CLIENT_BACKOFF_DURATION'] ?? '') !== '') {
    logger.info(0, 'KUBE_CLIENT_BACKOFF_BASE and KUBE_CLIENT_BACKOFF_DURATION are ignored');
  }
  const { credentials, issued } = proofOf(deps, config.user);
  const { endpoint } = config;
  const proxy = config.proxy ?? proxyFromEnvironment(endpoint, env);
  const server = createServerTransport(
    { clock },
    {
      endpoint,
      proxy,
      http2: (env['DISABLE_HTTP2'] ?? '') === '' ? 'allowed' : 'disabled',
      health: healthFromEnvironment(env, logger),
      tls: await loadTlsSource({ ...deps, issued }, config.tls),
    },
  );
  return {
    host: authorityOf(endpoint),
    transport: credentials === undefined ? server.send : authenticated(server.send, credentials, clock),
    dial: async () => {
      if (endpoint.scheme === 'http' && proxy !== undefined)
        throw new Error('a proxy in front of plain HTTP lets no upgrade through');
      const { authorization } = (await credentials?.current()) ?? {};
      return {
        socket: await server.dial(),
        url: new URL(`http://${authorityOf(endpoint)}${endpoint.basePath}`),
        headers: authorization === undefined ? {} : { authorization },
      };
    },
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  };
}

/** How requests are authenticated: by a header of each request, by the certificate of the connection, or by both. */
interface Proof {
  readonly credentials?: Credentials;
  readonly issued?: () => Identity | undefined;
}

function proofOf(deps: ConnectDeps, user: User): Proof {
  switch (user.kind) {
    case 'anonymous':
      return {};
    case 'header': {
      const credential = { authorization: user.authorization() };
      return { credentials: { current: () => credential, refused: () => undefined } };
    }
    case 'tokenFile':
      return { credentials: cachedCredentials({ ...deps, read: () => readTokenFile(deps.files, user.path) }) };
    case 'plugin': {
      const { read, issued } = execPlugin(deps, user.plugin);
      // The plugin caches its credential until it expires, so it can be called for each request.
      return { credentials: cachedCredentials({ ...deps, read, freshForMs: 0 }), issued };
    }
  }
}

async function readTokenFile(files: Files, path: string): Promise<Credential> {
  let text: string;
  try {
    text = await readText(files, path);
  } catch (cause) {
    throw new Error(`failed to read token file "${path}": ${(cause as Error).message}`, { cause });
  }
  const token = text.trim();
  if (token === '') throw new Error(`read empty token from file "${path}"`);
  return { authorization: `Bearer ${token}` };
}
