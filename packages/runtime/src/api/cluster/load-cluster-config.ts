// SPDX-License-Identifier: Apache-2.0
import type { ClusterConfig } from './cluster-config.ts';
import type { FileError } from './files.ts';
import { isInCluster, type LoadDeps, loadInClusterConfig } from './in-cluster.ts';
import { loadKubeconfig } from './kubeconfig.ts';
import { EmptyConfigError } from './kubeconfig-checks.ts';

export interface ClusterFlags {
  /** `--kubeconfig`; empty or absent: in-cluster. */
  readonly kubeconfig?: string | undefined;
  /** `--master`, for the programs that have it: overrides the server. */
  readonly master?: string | undefined;
}

/**
 * The configuration of the cluster from flags, environment and files. Errors carry client-go's texts. With an empty kubeconfig
 * the in-cluster configuration is used where there is one, as in client-go.
 */
export async function loadClusterConfig(deps: LoadDeps, flags: ClusterFlags): Promise<ClusterConfig> {
  const { kubeconfig: path = '', master = '' } = flags;
  if (path === '' && master === '') return loadInClusterConfig(deps);
  try {
    return await loadKubeconfig(deps.files, { paths: path === '' ? [] : [path], master });
  } catch (error) {
    if (error instanceof EmptyConfigError && (await isInCluster(deps))) return loadInClusterConfig(deps);
    throw error;
  }
}

export interface PersonFlags {
  /** `--kubeconfig`; empty: `$KUBECONFIG`, a list of files, then `~/.kube/config`, then the service account. */
  readonly kubeconfig: string;
  /** `--context`; empty: the current one. */
  readonly context: string;
}

/** The configuration of the cluster that a person works with, found as kubectl finds it. Files of `$KUBECONFIG` may be missing. */
export async function loadPersonConfig(deps: LoadDeps, { kubeconfig, context }: PersonFlags): Promise<ClusterConfig> {
  const { env, files } = deps;
  if (kubeconfig !== '') return await loadKubeconfig(files, { paths: [kubeconfig], context, master: '' });
  const listed = (env['KUBECONFIG'] ?? '').split(':').filter((path) => path !== '');
  const wanted = listed.length > 0 ? listed : [`${env['HOME'] ?? ''}/.kube/config`];
  const paths = [];
  for (const path of wanted) {
    const isThere = await files.read(path).then(
      () => true,
      (error: FileError) => error.code !== 'ENOENT',
    );
    if (isThere) paths.push(path);
  }
  if (paths.length > 0) return await loadKubeconfig(files, { paths, context, master: '' });
  if (await isInCluster(deps)) return await loadInClusterConfig(deps);
  throw new Error(`no kubeconfig was found at ${wanted.join(', ')}: name one with --kubeconfig`);
}
