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
 * What the flags, the environment and the files say about the cluster. Errors carry client-go's texts. A kubeconfig that
 * says nothing means in-cluster where that is possible, as it does for client-go.
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
