// SPDX-License-Identifier: Apache-2.0
/** A connection with credentials, and clients over it. */
import type { ApiClient } from '../api/client.ts';
import type { ClusterConfig } from '../api/cluster/cluster-config.ts';
import {
  type ClusterConnection,
  connectCluster,
  type ConnectDeps,
  type DialedConnection,
} from '../api/cluster/connect-cluster.ts';
import { type ClusterFlags, loadClusterConfig, loadPersonConfig } from '../api/cluster/load-cluster-config.ts';
import { type ApiClientDeps, type ApiClientOptions, createApiClient } from '../api/create-client.ts';
import type { RateLimit } from '../api/request-limiter.ts';
import type { RequestMetrics } from '../api/request-metrics.ts';
import type { Transport } from '../api/transport.ts';
import type { Logger } from '../log/logger.ts';

/** Each part can be replaced without the others. */
export interface ApiParts {
  /** The address of the cluster and the credentials of the program. Default: `loadClusterConfig`. */
  readonly loadConfig: (deps: ConnectDeps, flags: ClusterFlags) => Promise<ClusterConfig>;
  /** The transport. Default: `connectCluster`. */
  readonly connect: (
    deps: ConnectDeps,
    config: ClusterConfig,
  ) => Promise<Pick<ClusterConnection, 'host' | 'transport' | 'close'> & Partial<Pick<ClusterConnection, 'dial'>>>;
  /** Default: `createApiClient`. */
  readonly createClient: (deps: ApiClientDeps, options: ApiClientOptions) => ApiClient;
}

const ownParts: ApiParts = {
  loadConfig: loadClusterConfig,
  connect: connectCluster,
  createClient: createApiClient,
};

export interface ConnectApiDeps extends ConnectDeps {
  readonly parts?: Partial<ApiParts>;
  /** Makes the metrics of the client from the host of the server. Default: none. */
  readonly requestMetrics?: ((host: string) => RequestMetrics) | undefined;
}

export interface ApiConnection {
  readonly client: ApiClient;
  /** Another client over the same connection, with a rate limit of its own. */
  readonly clientWith: (limits: ClientLimits) => ApiClient;
  /** Of the context of the kubeconfig; empty or undefined: none is known. */
  readonly namespace?: string | undefined;
  /** A connection for one request that upgrades it. Undefined: what replaced the transport cannot. No layer is around it. */
  readonly dial?: (() => Promise<DialedConnection>) | undefined;
  readonly close: () => Promise<void>;
}

/** What a command of a person has beside the flags of a program. */
export interface CommandOptions {
  /** `--context`. The kubeconfig is found as kubectl finds it. */
  readonly context: string;
  /** A layer around the transport, below the client. */
  readonly layer: (transport: Transport) => Transport;
}

export interface ClientLimits extends RateLimit {
  readonly logger: Logger;
  /** Stands behind the user agent of the connection. Default: nothing does. */
  readonly component?: string;
  /** Whether its requests are counted by `requestMetrics`. */
  readonly counted: boolean;
}

/** Rejects for a configuration that cannot work. The first request opens the connection. */
export async function connectApi(
  { parts, requestMetrics, ...deps }: ConnectApiDeps,
  {
    kubeconfig = '',
    master,
    command,
    ...options
  }: ClusterFlags & ApiClientOptions & { readonly command?: CommandOptions | undefined },
): Promise<ApiConnection> {
  const { loadConfig, connect, createClient } = { ...ownParts, ...parts };
  const config =
    command === undefined
      ? await loadConfig(deps, { kubeconfig, master })
      : await loadPersonConfig(deps, { kubeconfig, context: command.context });
  const connection = await connect(deps, config);
  const { host, dial, close } = connection;
  const transport = command === undefined ? connection.transport : command.layer(connection.transport);
  const metrics = requestMetrics?.(host);
  return {
    client: createClient({ ...deps, transport, metrics, host }, options),
    clientWith: ({ logger, component, counted, qps, burst }) =>
      createClient(
        { ...deps, logger, transport, host, metrics: counted ? metrics : undefined },
        { ...options, qps, burst, userAgent: [options.userAgent, component].filter(Boolean).join('/') },
      ),
    namespace: config.namespace,
    dial:
      dial &&
      (async () => {
        const dialed = await dial();
        return { ...dialed, headers: { 'user-agent': options.userAgent, ...dialed.headers } };
      }),
    close,
  };
}
