// SPDX-License-Identifier: Apache-2.0
/** The exec plugin that a kubeconfig names, and the cluster information that it receives. */
import type { ExecCluster, ExecPlugin } from './cluster-config.ts';
import { type Files } from './files.ts';
import type { Cluster, Exec } from './kubeconfig-format.ts';

const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

/** The extension of a cluster that is meant for the plugin. */
const extensionName = 'client.authentication.k8s.io/exec';

/** Rejects settings that can never work, with the messages of client-go. */
export async function execPluginOf(files: Files, cluster: Cluster, exec: Exec): Promise<ExecPlugin> {
  const { command = '', args, env, apiVersion = '', installHint } = exec;
  if (!versions.includes(apiVersion)) throw new Error(`exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`);
  if (exec.interactiveMode === 'Always') {
    // The one that plugins have here.
    throw new Error('exec plugin cannot support interactive mode: standard input is not a terminal');
  }
  return {
    command,
    args: args ?? [],
    env: env ?? [],
    apiVersion,
    installHint,
    cluster: exec.provideClusterInfo === true ? await clusterInfo(files, cluster) : undefined,
  };
}

async function clusterInfo(files: Files, cluster: Cluster): Promise<ExecCluster> {
  const { server, tlsServerName = '', skipTLSVerify, caData = '', caFile = '', proxyUrl = '' } = cluster;
  const authorities = caFile === '' ? caData : Buffer.from(await files.read(caFile)).toString('base64');
  return {
    server,
    ...(tlsServerName !== '' && { 'tls-server-name': tlsServerName }),
    ...(skipTLSVerify && { 'insecure-skip-tls-verify': true }),
    ...(authorities !== '' && { 'certificate-authority-data': authorities }),
    ...(proxyUrl !== '' && { 'proxy-url': proxyUrl }),
    ...(cluster.disableCompression === true && { 'disable-compression': true }),
    config: extensionOf(cluster),
  };
}

function extensionOf({ extensions }: Cluster): unknown {
  if (!Array.isArray(extensions)) return undefined;
  const entries: readonly ({ readonly name?: string; readonly extension?: unknown } | null)[] = extensions;
  return entries.find((entry) => entry?.name === extensionName)?.extension;
}
