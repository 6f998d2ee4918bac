// SPDX-License-Identifier: Apache-2.0
/**
 * The configuration that a kubeconfig file, or `--master` alone, gives. Settings that would change the user are refused rather
 * than ignored: impersonation, and auth providers (which client-go no longer has either).
 */
import { parseEndpoint } from '../connection/endpoint.ts';
import type { ClusterConfig, Pem, TlsSettings, User } from './cluster-config.ts';
import { execPluginOf } from './exec-settings.ts';
import type { Files } from './files.ts';
import { confirmUsable, proxyOf } from './kubeconfig-checks.ts';
import { type Chosen, nothingChosen, readKubeconfig } from './kubeconfig-format.ts';

export interface KubeconfigSource {
  /** Empty: nothing is known but the server. */
  readonly paths: readonly string[];
  /** Default: the current context. */
  readonly context?: string | undefined;
  /** Overrides the server of the file. Empty: no override. */
  readonly master: string;
}

export async function loadKubeconfig(files: Files, { master, ...wanted }: KubeconfigSource): Promise<ClusterConfig> {
  const read = wanted.paths.length === 0 ? undefined : await readKubeconfig(files, wanted);
  const chosen = withServer(read ?? nothingChosen, master);
  await confirmUsable(files, chosen);
  const { cluster } = chosen;
  const endpoint = parseEndpoint(cluster.server, 'http');
  const tls = tlsOf(chosen);
  return {
    endpoint,
    tls,
    proxy: proxyOf(cluster),
    namespace: read?.namespace,
    // Credentials are not sent over plain http; client-go does the same.
    user: endpoint.scheme === 'http' ? { kind: 'anonymous' } : await userOf(files, chosen, tls),
  };
}

function withServer(chosen: Chosen, master: string): Chosen {
  return master === '' ? chosen : { ...chosen, cluster: { ...chosen.cluster, server: master } };
}

function tlsOf({ cluster, user }: Chosen): TlsSettings {
  const authorities = pemOf(cluster.caData, cluster.caFile);
  const certificate = pemOf(user.certData, user.certFile);
  const key = pemOf(user.keyData, user.keyFile);
  const verify = cluster.skipTLSVerify ? 'nothing' : 'server';
  if (verify === 'nothing' && authorities !== undefined) {
    throw new Error('specifying a root certificates file with the insecure flag is not allowed');
  }
  return {
    authorities,
    identity: certificate !== undefined && key !== undefined ? { certificate, key } : undefined,
    serverName: cluster.tlsServerName === '' ? undefined : cluster.tlsServerName,
    verify,
  };
}

function pemOf(data: string | undefined, path: string | undefined): Pem | undefined {
  if (data !== undefined && data !== '') return { kind: 'inline', text: () => Buffer.from(data, 'base64').toString() };
  return path === undefined || path === '' ? undefined : { kind: 'file', path };
}

async function userOf(files: Files, { cluster, user }: Chosen, tls: TlsSettings): Promise<User> {
  if ((user.impersonateUser ?? '') !== '') throw new Error('impersonation (`as` in the kubeconfig) is not supported');
  const { authProvider: provider } = user;
  if (provider !== undefined) throw new Error(`no Auth Provider found for name "${provider.name ?? ''}"`);
  const { token = '', tokenFile = '', username = '', password = '', exec } = user;
  if (tokenFile !== '') {
    // The file must exist, even though its content is not needed yet.
    if (token === '') await files.read(tokenFile);
    return { kind: 'tokenFile', path: tokenFile };
  }
  if (token !== '') return { kind: 'header', authorization: () => `Bearer ${token}` };
  if (username !== '' || password !== '') {
    return {
      kind: 'header',
      authorization: () => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    };
  }
  // A client certificate already identifies the user, so the plugin does not run. client-go does the same.
  if (exec === undefined || tls.identity !== undefined) return { kind: 'anonymous' };
  return { kind: 'plugin', plugin: await execPluginOf(files, cluster, exec) };
}
