// SPDX-License-Identifier: Apache-2.0
import type { ClusterConfig } from './cluster-config.ts';
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
    return await loadKubeconfig(deps.files, { path, master });
  } catch (error) {
    if (error instanceof EmptyConfigError && (await isInCluster(deps))) return loadInClusterConfig(deps);
    throw error;
  }
}
