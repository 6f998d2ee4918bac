// SPDX-License-Identifier: Apache-2.0
/** The connections of a program to its cluster, with its limits and its name. */
import type { Files } from '../api/cluster/files.ts';
import { EmptyConfigError } from '../api/cluster/kubeconfig-checks.ts';
import { memoryPath } from '../api/cluster/kubeconfig-format.ts';
import { loadClusterConfig } from '../api/cluster/load-cluster-config.ts';
import type { ApiClientOptions } from '../api/create-client.ts';
import { createRequestMetrics, type RequestMetrics } from '../api/request-metrics.ts';
import { userAgent } from '../api/user-agent.ts';
import { type ApiConnection, type ApiParts, connectApi } from './connect-api.ts';
import type { ExportedConfig, Parts, RunControllerOptions } from './options.ts';

export type ConnectionOptions = Pick<RunControllerOptions, 'name' | 'version' | 'kubeconfig' | 'qps' | 'burst'> &
  Partial<ApiParts>;

/** Each call opens its own connection. All connections use the same metrics. */
export function connections(parts: Parts, options: ConnectionOptions): () => Promise<ApiConnection> {
  const { name, version = '', qps = 20, burst = 30 } = options;
  const { path, files } = configFile(parts.files, options.kubeconfig);
  const { loadConfig = loaderOf(options), connect, createClient } = options;
  const replaced = {
    loadConfig,
    ...(connect && { connect }),
    ...(createClient && { createClient }),
  };
  const client: ApiClientOptions = { qps, burst, userAgent: userAgent({ binary: name, version, commit: '' }) };
  let counted: RequestMetrics | undefined;
  const requestMetrics = (host: string): RequestMetrics => (counted ??= createRequestMetrics(parts.metrics, host));
  return () => connectApi({ ...parts, files, parts: replaced, requestMetrics }, { ...client, kubeconfig: path });
}

/** The default, whose errors name the option too: those of client-go, which our own programs have as they are, speak of flags and variables. */
function loaderOf({ kubeconfig = '' }: ConnectionOptions): ApiParts['loadConfig'] {
  return async (deps, flags) => {
    try {
      return await loadClusterConfig(deps, flags);
    } catch (cause) {
      const { message } = cause as Error;
      const reason = cause instanceof EmptyConfigError ? 'its current context has no server' : message;
      throw new Error(`${faultyOption(kubeconfig)}: ${reason}`, { cause });
    }
  };
}

function faultyOption(kubeconfig: string | ExportedConfig): string {
  if (kubeconfig === '') return 'the option `kubeconfig` is not set, and the service account of a pod cannot be used';
  return `the kubeconfig of the option \`kubeconfig\`${typeof kubeconfig === 'string' ? `, ${kubeconfig},` : ''} cannot be used`;
}

/** A config that exists in memory is read as a file. */
function configFile(
  files: Files,
  kubeconfig: ConnectionOptions['kubeconfig'],
): { readonly path: string | undefined; readonly files: Files } {
  if (kubeconfig === undefined || typeof kubeconfig === 'string') return { path: kubeconfig, files };
  const read: Files['read'] = async (wanted) =>
    wanted === memoryPath ? Buffer.from(kubeconfig.exportConfig()) : await files.read(wanted);
  return { path: memoryPath, files: { ...files, read } };
}
