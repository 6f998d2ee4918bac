// SPDX-License-Identifier: Apache-2.0
/**
 * The configuration that a kubeconfig file, or `--master` alone, gives. Refused rather than ignored because they would
 * change who we are: impersonation, and auth providers (which client-go no longer has either).
 */
import { parseEndpoint } from '../connection/endpoint.ts';
import { parseProxyUrl } from '../connection/proxy.ts';
import type { ClusterConfig, Pem, TlsSettings, User } from './cluster-config.ts';
import type { Files } from './files.ts';
import { confirmUsable } from './kubeconfig-checks.ts';
import { type AuthInfo, type Chosen, choose, type Cluster, type Exec, readKubeconfig } from './kubeconfig-format.ts';

export interface KubeconfigSource {
  /** Empty: nothing is known but the server. */
  readonly path: string;
  /** The server instead of the file's; empty for none. */
  readonly master: string;
}

export async function loadKubeconfig(files: Files, { path, master }: KubeconfigSource): Promise<ClusterConfig> {
  const chosen = withServer(path === '' ? choose({}) : await readKubeconfig(files, path), master);
  await confirmUsable(files, chosen);
  const { cluster, user } = chosen;
  const endpoint = parseEndpoint(cluster.server ?? '', 'http');
  const proxy = cluster['proxy-url'] ?? '';
  return {
    endpoint,
    tls: tlsOf(cluster, user),
    proxy: proxy === '' ? undefined : parseProxyUrl(proxy),
    // Nobody is told who we are over plain http; client-go does the same.
    user: endpoint.scheme === 'http' ? { kind: 'anonymous' } : await userOf(files, user),
  };
}

function withServer(chosen: Chosen, master: string): Chosen {
  return master === '' ? chosen : { ...chosen, cluster: { ...chosen.cluster, server: master } };
}

function tlsOf(cluster: Cluster, user: AuthInfo): TlsSettings {
  const authorities = pemOf(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const certificate = pemOf(user['client-certificate-data'], user['client-certificate']);
  const key = pemOf(user['client-key-data'], user['client-key']);
  const verify = cluster['insecure-skip-tls-verify'] === true ? 'nothing' : 'server';
  if (verify === 'nothing' && authorities !== undefined) {
    throw new Error('specifying a root certificates file with the insecure flag is not allowed');
  }
  const serverName = cluster['tls-server-name'] ?? '';
  return {
    authorities,
    identity: certificate !== undefined && key !== undefined ? { certificate, key } : undefined,
    serverName: serverName === '' ? undefined : serverName,
    verify,
  };
}

function pemOf(data: string | undefined, path: string | undefined): Pem | undefined {
  if (data !== undefined && data !== '') return { kind: 'inline', text: () => Buffer.from(data, 'base64').toString() };
  return path === undefined || path === '' ? undefined : { kind: 'file', path };
}

async function userOf(files: Files, user: AuthInfo): Promise<User> {
  if ((user.as ?? '') !== '') throw new Error('impersonation (`as` in the kubeconfig) is not supported');
  const provider = user['auth-provider'] ?? undefined;
  if (provider !== undefined) throw new Error(`no Auth Provider found for name "${provider.name ?? ''}"`);
  const { token = '', tokenFile = '', username = '', password = '' } = user;
  if (tokenFile !== '') {
    // It has to be there, even if its content is not needed yet.
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
  return user.exec === undefined || user.exec === null ? { kind: 'anonymous' } : pluginOf(user.exec);
}

function pluginOf({ command = '', args, env, apiVersion = '' }: Exec): User {
  return { kind: 'plugin', plugin: { command, args: args ?? [], env: env ?? [], apiVersion } };
}
